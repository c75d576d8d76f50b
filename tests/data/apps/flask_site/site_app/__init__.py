from flask import Flask

from site_app import shop
from site_app.views import Thing, admin, api


def register(app: Flask) -> None:
    app.register_blueprint(shop.bp)
    app.register_blueprint(shop.bp, url_prefix="/second", name="again")


def create_app() -> Flask:
    app = Flask(__name__)

    @app.route("/")
    def index():
        return "index"

    @app.post("/form")
    def form():
        return "form"

    register(app)
    api.register_blueprint(admin)
    app.register_blueprint(api, url_prefix="/api/v2")
    app.add_url_rule("/thing/<uuid:key>", view_func=Thing.as_view("thing"))
    app.add_url_rule("/plain", "plain", index, methods=("GET", "DELETE"))
    return app
