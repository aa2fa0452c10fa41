import { parentPort } from 'node:worker_threads';
import { lowerPriority } from '../platform/thread-priority.ts';
import type { ThreadReply, ThreadRequest } from '../platform/worker-thread.ts';
import { type PageFrame, renderDocument } from './page-html.ts';

/** `state`: a `PageState` as JSON, which is handed over faster than its objects. */
export interface PageRequest {
  state: string;
  frame: PageFrame;
}

// Entry point of the thread that makes the pages of large surveys.
lowerPriority();
parentPort?.on('message', ({ id, request }: ThreadRequest<PageRequest>) => {
  void renderDocument(JSON.parse(request.state), request.frame).then(
    (bytes) => parentPort?.postMessage({ id, result: bytes } satisfies ThreadReply<Uint8Array>),
    (error: unknown) => parentPort?.postMessage({ id, error: String(error) } satisfies ThreadReply<Uint8Array>),
  );
});
