from bench.peers.commands import app

app()
