from django.http import HttpResponse
from django.urls import include, path, re_path

from articles import urls as article_urls


def view(request, **kwargs):
    return HttpResponse("view")


extra = [path("reports/", view), path("reports/<uuid:key>/", view)]
urlpatterns = [
    path("", view),
    path("about/", view, name="about"),
    path("articles/", include("articles.urls")),
    path("again/", include(article_urls)),
    path("extra/", include(extra)),
    path("named/", include((extra, "extra"), namespace="named")),
    re_path(r"^old/(?P<year>[0-9]{4})/$", view),
]
urlpatterns += [path("late/<path:rest>", view)]
