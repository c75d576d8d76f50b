import click

from tool.options import common, verbose
from tool.users import users


@click.group()
@click.version_option("1")
@verbose
def cli(verbose):
    pass


@cli.command()
@click.option("--force/--no-force", "-f", default=False)
@click.argument("path")
@common
def clean_up(force, path, region, dry_run):
    pass


@cli.command("list")
@click.option("--format", "output_format", type=click.Choice(["a", "b"]))
@click.confirmation_option(prompt="sure?")
def list_command(output_format):
    pass


@click.command
def sync_cmd():
    pass


@cli.group()
def deep():
    pass


@deep.command()
@click.password_option()
def down(password):
    pass


@click.command()
def forgotten():
    pass


cli.add_command(users)
cli.add_command(sync_cmd)
cli.add_command(users, "people")
