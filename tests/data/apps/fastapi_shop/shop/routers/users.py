from fastapi import APIRouter as Router

router = Router(prefix="/users")


@router.get("/me")
def me() -> str:
    return "me"


@router.delete("/{name}/files/{path:path}")
def remove(name: str, path: str) -> str:
    return name + path
