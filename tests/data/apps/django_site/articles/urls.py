from django.http import HttpResponse
from django.urls import path


def view(request, **kwargs):
    return HttpResponse("view")


urlpatterns = [path("", view), path("<int:year>/", view), path("<slug:slug>/edit", view)]
