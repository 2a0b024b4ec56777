import { createRegistry, defineJob } from 'leasehold';
import * as z from 'zod';

/** Renders a video, frame by frame: longer than a Lambda function may run, on machines of a size of your choice. */
const render = defineJob({
  type: 'render',
  payload: z.object({ video: z.string(), frames: z.int().min(1) }),
  checkpoint: z.object({ frame: z.int() }),
  async run({ payload, checkpoint }, { signal, save }) {
    for (let frame = checkpoint?.frame ?? 0; frame < payload.frames; frame++) {
      signal.throwIfAborted();
      await renderFrame(payload.video, frame);
      await save({ frame: frame + 1 });
    }
  },
});

/** What is worth a machine of its own goes here. */
async function renderFrame(video: string, frame: number): Promise<void> {
  console.log(`frame ${frame} of ${video}`);
}

export const registry = createRegistry([render]);
