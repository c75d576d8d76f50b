"""The application: made by a function, with routers from everywhere."""

from fastapi import FastAPI
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from shop import routers
from shop.config import BASE
from shop.routers import items, users as people
from shop.routers.orders import orders


def hello(request):
    return PlainTextResponse("hello")


class Server:
    def __init__(self) -> None:
        self.app = FastAPI(docs_url=None, openapi_url="/schema.json")
        self.app.include_router(routers.health)

    def more(self) -> None:
        @self.app.get("/inner")
        def inner() -> str:
            return "inner"


def extra(application, router=orders) -> None:
    application.include_router(router, prefix="/extra")


def create_app() -> FastAPI:
    app = FastAPI()
    for router in (items.router, people.router):
        app.include_router(router, prefix=BASE)
    extra(app)
    app.mount("/old", Starlette(routes=[Route("/hello", hello)]))
    server = Server()
    server.more()
    app.mount("/inside", server.app)

    @app.get("/")
    @app.head("/")
    def root() -> str:
        return "root"

    return app


app = create_app()


@app.websocket("/live/{room}")
async def live(websocket, room: str) -> None:
    await websocket.accept()


app.add_api_route("/added", hello, methods=["PUT", "DELETE"])
