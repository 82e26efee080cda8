from ellzero.serve.app import create_app as create_app
from ellzero.serve.settings import ServeSettings as ServeSettings
