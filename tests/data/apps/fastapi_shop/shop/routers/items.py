import fastapi

router = fastapi.APIRouter(prefix="/items", tags=["items"])
stock = fastapi.APIRouter(prefix="/stock")


@router.get("")
def every() -> list[str]:
    return []


@router.get("/{item_id}")
def one(item_id: int) -> int:
    return item_id


@router.api_route("/{item_id}/photo", methods=["GET", "POST"])
def photo(item_id: int) -> int:
    return item_id


@stock.post("/{item_id:int}/count")
def count(item_id: int) -> int:
    return item_id


router.include_router(stock)
