import { Inject, Injectable, Logger } from '@nestjs/common';
import type { SlavePlacement } from '../../core/model/enums.js';
import type { PlacementOverride } from '../../core/placement/index.js';
import { Database } from '../../platform/database/database.js';
import type { Caller } from '../../platform/http/caller.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { Wake } from '../../platform/wake/wake.js';
import type { LimitsDto } from './configuration.dto.js';
import { PlacementOverrideRepository } from './placement-override.repository.js';

/** Settings that operators change at run time. */
@Injectable()
export class ConfigurationService {
  private readonly log = new Logger(ConfigurationService.name);

  constructor(
    private readonly db: Database,
    private readonly overrides: PlacementOverrideRepository,
    private readonly wake: Wake,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  limits(): LimitsDto {
    return { maxDecommissioningAgents: this.settings.maxDecommissioningSlaves };
  }

  placement(): Promise<PlacementOverride> {
    return this.overrides.find(this.db.pool);
  }

  /** `null`: each request by its own strategy. */
  setStrategy(slavePlacement: SlavePlacement | null, caller: Caller): Promise<void> {
    return this.save({ slavePlacement }, caller);
  }

  ignoreRackSensitivity(ignoresRackSensitivity: boolean, caller: Caller): Promise<void> {
    return this.save({ ignoresRackSensitivity }, caller);
  }

  private async save(change: Parameters<PlacementOverrideRepository['save']>[1], { id: user }: Caller): Promise<void> {
    await this.db.transaction((tx) => this.overrides.save(tx, change));
    this.log.warn(`'${user}' changed the placement of all requests: ${JSON.stringify(change)}`);
    // What waited for a machine may have one now.
    this.wake.signal('scheduler');
  }
}
