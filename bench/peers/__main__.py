from bench.peers.run import app

app()
