from django.urls import path

from articles.urls import view

urlpatterns = [path("unused/", view)]
