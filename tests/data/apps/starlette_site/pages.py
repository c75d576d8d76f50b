from starlette.applications import Starlette
from starlette.endpoints import HTTPEndpoint
from starlette.responses import PlainTextResponse
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles


async def page(request):
    return PlainTextResponse("page")


async def live(websocket):
    await websocket.accept()


class Item(HTTPEndpoint):
    async def get(self, request):
        return PlainTextResponse("item")

    async def delete(self, request):
        return PlainTextResponse("gone")


common = [Route("/about", page)]
routes = [
    Route("/", page),
    Route("/form", page, methods=["post"]),
    Route("/items/{item:int}", Item),
    WebSocketRoute("/ws", endpoint=live),
    Mount(
        "/api",
        routes=[Route("/v1/{name}", page), Mount("/deep", routes=common + [Route("/er", page)])],
    ),
    Mount("/static", app=StaticFiles(directory="."), name="static"),
    *common,
]
routes.append(Route("/late", page))
routes += [Route("/later", page)]
app = Starlette(debug=True, routes=routes)
app.add_route("/added", page, methods=["GET", "PUT"])
unused = [Route("/unused", page)]
