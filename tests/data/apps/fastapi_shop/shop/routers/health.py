from fastapi import APIRouter

router = APIRouter()


@router.get("/health")
def health() -> str:
    return "ok"
