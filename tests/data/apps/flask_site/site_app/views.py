import flask
from flask.views import MethodView

api = flask.Blueprint("api", __name__, url_prefix="/api")
admin = flask.Blueprint("admin", __name__, url_prefix="/admin")


@api.get("/files/<path:name>")
def files(name):
    return name


@admin.route("/users")
def users():
    return "users"


class Thing(MethodView):
    def get(self, key):
        return str(key)

    def delete(self, key):
        return str(key)
