SECRET_KEY = "".join(["only", "a", "test"])
ROOT_URLCONF = "urls"
INSTALLED_APPS = []
