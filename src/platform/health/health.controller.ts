import { Controller, Get, Res } from '@nestjs/common';
import { ApiOkResponse, ApiServiceUnavailableResponse, ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { Database } from '../database/database.js';
import { Leadership } from '../leadership/leadership.js';
import { Pollers } from '../poller/pollers.js';
import { MaySeeState } from '../http/caller.js';
import { Degradations } from './degradations.js';
import { Readiness } from './readiness.js';
import { HealthDto, ReadinessDto } from './health.dto.js';
import { uncaughtErrors } from './uncaught-errors.js';

@ApiTags('Health')
@Controller()
export class HealthController {
  constructor(
    private readonly database: Database,
    private readonly leadership: Leadership,
    private readonly pollers: Pollers,
    private readonly readinessOf: Readiness,
    private readonly degradations: Degradations,
  ) {}

  /** Answers as long as the process runs. */
  @Get('healthz')
  @ApiOkResponse({ type: HealthDto })
  health(): HealthDto {
    return { status: 'UP' };
  }

  /**
   * 200 when this instance can serve, 503 while the database is away, has the schema of a newer program, no machine is known (for half a
   * minute at most), or a poller that the service depends on keeps failing. Who leads, which pollers fail and why: for callers who may read
   * the state of the cluster.
   */
  @Get('readyz')
  @ApiOkResponse({ type: ReadinessDto })
  @ApiServiceUnavailableResponse({ type: ReadinessDto })
  async readiness(
    @Res({ passthrough: true }) response: Response,
    @MaySeeState() maySeeState: boolean,
  ): Promise<ReadinessDto> {
    const { leader, databaseError } = await this.leader();
    const failing = this.pollers.states().filter(({ failuresInRow }) => failuresInRow > 0);
    const { newerSchema } = this.leadership.standing();
    const canServe = databaseError === undefined && newerSchema === undefined;
    const missing = canServe ? await this.readinessOf.missing() : [];
    const ready = canServe && missing.length === 0 && !failing.some(({ stopsService }) => stopsService);
    response.status(ready ? 200 : 503);
    const leads = this.leadership.ready();
    if (!maySeeState) return { ready, leads };
    return {
      ready,
      leads,
      epoch: this.leadership.current(),
      leader,
      databaseError,
      newerSchema,
      missing,
      failingPollers: failing,
      degraded: this.degradations.list(),
      disabledPollers: this.pollers.disabled(),
      uncaughtErrors: uncaughtErrors.count,
    };
  }

  /** Address of the leader, or the error of the database. */
  private async leader(): Promise<{ leader?: string; databaseError?: string }> {
    try {
      await this.database.ping();
      return { leader: await this.leadership.leaderAddress() };
    } catch (cause) {
      return { databaseError: cause instanceof Error ? cause.message : String(cause) };
    }
  }
}
