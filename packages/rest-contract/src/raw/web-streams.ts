// Between the streams of the web platform and what bodies are made of here.

/** Pulled, never pushed: the source is asked only for what the network takes. */
export function toReadable(chunks: AsyncGenerator<Uint8Array>): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await chunks.next();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      async cancel() {
        await chunks.return(undefined);
      },
    },
    { highWaterMark: 0 },
  );
}

/** As much of a ReadableStream as is asked for. */
export interface ByteReadable {
  getReader(): {
    read(): Promise<{ done: boolean; value?: Uint8Array }>;
    cancel(): Promise<unknown>;
  };
}

/** By a reader, because not every platform's streams are iterable. `failure`: what a reader is told when the stream breaks. */
export async function* chunksOf(
  body: ByteReadable,
  failure: (cause: unknown) => unknown = (cause) => cause,
): AsyncGenerator<Uint8Array> {
  const reader = body.getReader();
  let done = false;
  try {
    for (;;) {
      const step = await reader.read().catch((cause: unknown) => Promise.reject(failure(cause) as Error));
      if (step.done) break;
      yield step.value!;
    }
    done = true;
  } finally {
    if (!done) await reader.cancel().catch(() => undefined);
  }
}
