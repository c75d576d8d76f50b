class Settings:
    API: str = "/api"
    version = "v1"


settings = Settings()
BASE = f"{settings.API}/v1"
