import type { Server } from 'node:http';
import { Logger } from '@nestjs/common';
import { startApp } from '../../../app.js';
import { DatabaseClock } from '../../../platform/database/database-clock.js';
import { surviveUncaughtErrors } from '../../../platform/health/uncaught-errors.js';
import { ThisInstance } from '../../../platform/leadership/this-instance.js';
import { logConsoleLines, PinoLogger } from '../../../platform/logging/log.js';
import { Metrics } from '../../../platform/metrics/metrics.js';
import { collectGarbageSooner } from '../../../platform/process/garbage.js';
import { openDriver } from '../open-driver.js';
import type { StartServer } from './protocol.js';

/** The API, on connections that the leader accepts. */
export const startServer: StartServer = async (options, messages) => {
  const { number, settings, agentFolder, leaderInstanceId, leaderEndpoint, port, databaseConnections } = options;
  const logger = new PinoLogger({ ...settings.log, worker: number });
  Logger.overrideLogger(logger);
  logConsoleLines(logger);
  surviveUncaughtErrors(logger);
  collectGarbageSooner();
  const clock = new DatabaseClock();
  const driver = await openDriver(settings, { agentFolder, now: () => clock.now() });
  const { app } = await startApp({
    settings,
    driver,
    clock,
    logger,
    role: { kind: 'worker', leaderInstanceId, leaderEndpoint, port, databaseConnections, messages },
  });
  return {
    instanceId: app.get(ThisInstance).id,
    server: app.getHttpServer() as Server,
    metrics: () => app.get(Metrics).registry.getMetricsAsJSON(),
    close: () => app.close().catch((cause: unknown) => Logger.error(cause)),
  };
};
