import click

verbose = click.option("-v", "--verbose", is_flag=True)


def common(function):
    function = click.option("--region")(function)
    return click.option("--dry-run", is_flag=True)(function)
