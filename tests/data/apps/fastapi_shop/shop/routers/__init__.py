from shop.routers.health import router as health

__all__ = ["health"]
