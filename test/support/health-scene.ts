import http from 'node:http';
import type { AddressInfo } from 'node:net';
import type { DynamicModule, Type } from '@nestjs/common';
import { insertDeploy, insertRequest, insertTask } from './builders.js';
import { startRooms, type RoomApp } from './room-app.js';
import type { Deploy, HealthcheckOptions } from '../../src/core/model/deploy.js';
import type { Request } from '../../src/core/model/request.js';
import type { TaskId } from '../../src/core/model/task.js';
import type { Settings } from '../../src/platform/settings/settings.js';
import { Wake } from '../../src/platform/wake/wake.js';
import { HealthMonitor } from '../../src/modules/tasks/health/health-monitor.service.js';
import { TaskHealthModule } from '../../src/modules/tasks/health/task-health.module.js';
import type { Queryable } from '../../src/platform/database/queryable.js';

/** A real server; `answer` says what it does with each request, undefined: it does not answer. */
export interface Program {
  port: number;
  asked: number;
  /** Connections open now. */
  open: () => Promise<number>;
  answer: (request: http.IncomingMessage) => { status: number; text?: string } | undefined;
  close(): Promise<void>;
}

/** Health checks with all their parts, on real programs. Fast enough for a test. */
export class HealthScene {
  private readonly programs: Program[] = [];

  private constructor(
    readonly rooms: RoomApp,
    readonly tx: Queryable,
  ) {}

  static async start(settings: Partial<Settings> = {}, modules: (Type | DynamicModule)[] = []): Promise<HealthScene> {
    const rooms = await startRooms({
      modules: [TaskHealthModule, ...modules],
      // Each different enough to tell which one was kept.
      settings: {
        healthcheckIntervalSeconds: 0.05,
        startupIntervalSeconds: 0.01,
        healthcheckTimeoutSeconds: 5,
        startupTimeoutSeconds: 30,
        checkNewTasksEverySeconds: 0,
        ...settings,
      },
    });
    return new HealthScene(rooms, rooms.database.pool);
  }

  async program(answer: Program['answer'] = () => ({ status: 200 }), port = 0): Promise<Program> {
    const server = http.createServer((request, response) => {
      program.asked += 1;
      const { status, text } = program.answer(request) ?? {};
      if (status !== undefined) response.writeHead(status).end(text);
    });
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
    const program: Program = {
      port: (server.address() as AddressInfo).port,
      asked: 0,
      open: () => new Promise((resolve) => server.getConnections((_cause, count) => resolve(count))),
      answer,
      close: async () => {
        server.closeAllConnections();
        await new Promise((resolve) => server.close(resolve));
      },
    };
    this.programs.push(program);
    return program;
  }

  /** Request 'web' with the active deploy 'd1' and this health check. */
  async deploy(
    healthcheck: HealthcheckOptions,
    request: Partial<Request> = {},
    deploy: Partial<Deploy> = {},
  ): Promise<void> {
    await insertRequest(this.tx, { request, activeDeployId: 'd1' });
    await insertDeploy(this.tx, { deploy: { healthcheck: { uri: '/health', ...healthcheck }, ...deploy } });
  }

  /** A task of it that has just begun to run. */
  run(ports: number[], instanceNo = 1): Promise<TaskId> {
    return insertTask(this.tx, {
      instanceNo,
      host: '127.0.0.1',
      ports,
      startedAt: Date.now(),
      updates: [['TASK_RUNNING', Date.now()]],
    });
  }

  /** Wakes the deploys, as the code does after the commit that stores a status. */
  announce(): void {
    this.rooms.app.get(Wake).signal('deploys');
  }

  look(): Promise<void> {
    return this.rooms.app.get(HealthMonitor).runOnce(Date.now());
  }

  results(): Promise<Record<string, unknown>[]> {
    return this.tx.query('SELECT * FROM task_healthcheck ORDER BY checked_at');
  }

  async isFinished(): Promise<boolean> {
    const [task] = await this.tx.query('SELECT healthchecks_finished FROM task');
    return task.healthchecks_finished;
  }

  /** Between two tests: no rows, no plans, no programs. */
  async clear(): Promise<void> {
    await this.tx.query('TRUNCATE task');
    await this.look();
    await this.tx.query(
      'TRUNCATE request, request_history, deploy_history, task_launch, task_update, task_healthcheck, task_cleanup',
    );
    await Promise.all(this.programs.splice(0).map((program) => program.close()));
  }

  close(): Promise<void> {
    return this.rooms.close();
  }
}

/** Long enough for a check that must not happen. */
export const aWhile = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 150));
