import type { Response } from 'express';

interface Answer {
  status: number;
  contentType: string | null;
  body: string | null;
}

/** Thrown in the place of doing something that was done before: its answer is sent again. */
export class KeptAnswer extends Error {
  constructor(private readonly answer: Answer) {
    super('This was answered before');
  }

  send(response: Response): void {
    const { status, contentType, body } = this.answer;
    response.status(status).set('Idempotent-Replayed', 'true');
    if (contentType !== null) response.setHeader('Content-Type', contentType);
    response.end(body ?? undefined);
  }
}
