import { Inject, Injectable } from '@nestjs/common';
import { hostname } from 'node:os';
import { CLUSTER_DRIVER, type ClusterDriver } from '../../cluster/cluster-driver.js';
import type { HostState } from '../../core/model/state.js';
import { Leadership } from '../../platform/leadership/leadership.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';

/** The instances of this service, as far as this one knows them: itself. */
@Injectable()
export class HostStates {
  constructor(
    private readonly leadership: Leadership,
    @Inject(CLUSTER_DRIVER) private readonly driver: ClusterDriver,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  list(now: number): HostState[] {
    const master = this.leadership.ready();
    const seen = this.driver.machines().map((machine) => machine.seenAt);
    return [
      {
        master,
        uptime: Math.round(process.uptime() * 1000),
        driverStatus: master ? 'SUBSCRIBED' : 'NOT_STARTED',
        millisSinceLastOffer: seen.length > 0 ? now - Math.max(...seen) : undefined,
        hostAddress: this.settings.host,
        hostname: hostname(),
        clusterConnected: master && seen.length > 0,
      },
    ];
  }
}
