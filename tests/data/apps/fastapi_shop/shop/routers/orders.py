from fastapi import APIRouter

orders = APIRouter()
forgotten = APIRouter(prefix="/forgotten")


@orders.patch("/orders/{order}")
def change(order: str) -> str:
    return order


@forgotten.get("/route")
def never() -> str:
    return "nobody includes this router"
