from flask import Blueprint

bp = Blueprint("shop", __name__, url_prefix="/shop", static_folder="files")
lost = Blueprint("lost", __name__, url_prefix="/lost")


@bp.route("/<int:item>", methods=["GET", "PUT"])
@bp.route("/by-name/<name>")
def item(item=0, name=""):
    return str(item) + name


@lost.get("/never")
def never():
    return "nobody registers this blueprint"
