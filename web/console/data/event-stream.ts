interface ServerSentEvent {
  event: string;
  /** The data, which is JSON. */
  data: unknown;
}

/** The events of a `text/event-stream` body. Throws what reading the body throws. */
export async function* serverSentEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerSentEvent> {
  const reader = body.pipeThrough(new TextDecoderStream() as TransformStream<Uint8Array, string>).getReader();
  let rest = '';
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      const blocks = (rest + value).split('\n\n');
      rest = blocks.pop() ?? '';
      for (const block of blocks) {
        const event = eventOf(block);
        if (event) yield event;
      }
    }
  } finally {
    void reader.cancel().catch(() => undefined);
  }
}

/** Comments keep the connection open, and are no events. */
function eventOf(block: string): ServerSentEvent | undefined {
  const lines = block.split('\n');
  const fieldOf = (name: string) =>
    lines.filter((line) => line.startsWith(`${name}:`)).map((line) => line.slice(name.length + 1).trimStart());
  const data = fieldOf('data').join('\n');
  return data === '' ? undefined : { event: fieldOf('event')[0] ?? 'message', data: JSON.parse(data) as unknown };
}
