"""One task that ends its process once, for a prefork pool with late acknowledgement."""
import json
import os
import signal
import sys
import time

from celery import Celery

app = Celery("bench", broker=os.environ["BENCH_REDIS"])
app.conf.update(task_acks_late=True, task_reject_on_worker_lost=True, broker_connection_retry_on_startup=True)


def tell(event, task_id):
    os.write(1, (json.dumps({"event": event, "id": task_id, "at": time.time() * 1000}) + "\n").encode())


@app.task(name="die_once")
def die_once(task_id, folder):
    tell("start", task_id)
    file = os.path.join(folder, task_id)
    if os.path.exists(file):
        tell("end", task_id)
        return
    open(file, "w").close()
    time.sleep(0.05)
    tell("dying", task_id)
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    app.send_task("die_once", args=sys.argv[1:3])
