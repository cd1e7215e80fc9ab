import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { Logger } from '@nestjs/common';
import { startApp } from '../../../app.js';
import { DatabaseClock } from '../../../platform/database/database-clock.js';
import { surviveUncaughtErrors } from '../../../platform/health/uncaught-errors.js';
import { collectGarbageSooner } from '../../../platform/process/garbage.js';
import { ThisInstance } from '../../../platform/leadership/this-instance.js';
import { logConsoleLines, PinoLogger } from '../../../platform/logging/log.js';
import { Metrics } from '../../../platform/metrics/metrics.js';
import { apiOnly } from '../../../platform/process/part.js';
import { Words } from '../../../platform/process/words.js';
import { openDriver } from '../open-driver.js';
import type { Answer, Beginning, FromWorker, Question } from './messages.js';
import { Unanswered } from './unanswered.js';

/** The others are asked one after the other for no longer than this. */
const heardWithinMillis = 2_000;

/** What a worker does while it serves. */
export interface Serving {
  id: string;
  take(socket: Socket): void;
  answer(asked: { no: number; question: Question }): Promise<Answer>;
  /** The others have heard what it told under this number. */
  heard(no: number): void;
  end(): Promise<void>;
}

/** The API, by connections that another process accepts. */
export async function serve(
  { number, settings, agentFolder, connections, ...given }: Beginning,
  tell: (message: FromWorker) => Promise<void>,
): Promise<Serving> {
  const logger = new PinoLogger({ ...settings.log, worker: number });
  Logger.overrideLogger(logger);
  logConsoleLines(logger);
  surviveUncaughtErrors(logger);
  collectGarbageSooner();
  const unheard = new Unanswered();
  const words = new Words((word) => unheard.ask(heardWithinMillis, (no) => void tell({ kind: 'tell', no, word })));
  const clock = new DatabaseClock();
  const driver = await openDriver(settings, { agentFolder, now: () => clock.now() });
  const { instanceId: workerOf, doorway, port } = given;
  const part = apiOnly({ workerOf, doorway, port, connections, words });
  const { app } = await startApp({ settings, driver, clock, logger, part });
  return {
    id: app.get(ThisInstance).id,
    take: (socket) => void (app.getHttpServer() as Server).emit('connection', socket),
    async answer({ no, question }) {
      if (question.what === 'hear') words.hear(question.word);
      if (question.what !== 'figures') return { kind: 'answer', no };
      return { kind: 'answer', no, figures: await app.get(Metrics).registry.getMetricsAsJSON() };
    },
    heard: (no) => unheard.answered(no),
    end: () => app.close().catch((cause: unknown) => Logger.error(cause)),
  };
}
