import { ApiProperty } from '@nestjs/swagger';
import { slavePlacements, type SlavePlacement } from '../../core/model/enums.js';
import type { PlacementOverride } from '../../core/placement/index.js';
import { PathWord } from '../../platform/http/query.js';

/** Limits that clients look at before they ask for something. */
export class LimitsDto {
  /** Slaves that may be decommissioned at once. */
  @ApiProperty({ type: 'integer', format: 'int32' })
  maxDecommissioningAgents: number;
}

/** Settings for the placement of all requests, whatever they say themselves. */
export class PlacementOverrideDto implements PlacementOverride {
  /** The placement strategy in place of theirs; absent: each has its own. */
  @ApiProperty({ enum: slavePlacements, enumName: 'SlavePlacement' })
  slavePlacement?: SlavePlacement;
  /** True if rackSensitive of requests has no effect. */
  ignoresRackSensitivity: boolean;
}

/** Selects a placement strategy. */
export class StrategyParams {
  /** The placement strategy. */
  @PathWord(slavePlacements)
  strategy: SlavePlacement;
}
