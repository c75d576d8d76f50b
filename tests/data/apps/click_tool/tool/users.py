import click


@click.group(name="users")
@click.option("--tenant")
def users(tenant):
    pass


@users.command()
@click.option("--all", "-a", is_flag=True)
def show(all):
    pass
