import { ApiProperty } from '@nestjs/swagger';
import { IsOptional } from 'class-validator';
import type { DisabledAction, Disaster, DisastersData, ShownDataPoint } from '../../../core/model/state.js';
import { type ActionType, actionTypes, type DisasterType, disasterTypes } from '../../../core/model/enums.js';
import { OlderNames, OneOf, Text, Texts } from '../../../platform/http/fields.js';
import { PathWord } from '../../../platform/http/query.js';
import { Since } from '../../../platform/http/since.js';

const actionType = { enum: actionTypes, enumName: 'ActionType' } as const;
const disasterType = { enum: disasterTypes, enumName: 'DisasterType' } as const;
const int32 = { type: 'integer', format: 'int32' } as const;
const int64 = { type: 'integer', format: 'int64' } as const;

/** Selects a disaster. */
export class DisasterParams {
  /** The kind of disaster. */
  @PathWord(disasterTypes)
  type: DisasterType;
}

/** Selects an action. */
export class ActionParams {
  /** The action that is switched off or on. */
  @PathWord(actionTypes)
  action: ActionType;
}

/** Details of an action that is switched off. */
export class DisabledActionRequestDto {
  /** Ignored: the path says which action. */
  @IsOptional()
  @OneOf(actionTypes, 'ActionType')
  type?: ActionType;
  /** The reason, told to each caller who tries the action. */
  @IsOptional()
  @Text('message')
  message?: string;
  /** Groups whose requests may take it all the same. Only for DEPLOY. */
  @Since('muster')
  @IsOptional()
  @Texts('name')
  exceptGroups?: string[];
}

/** An action that is switched off. */
export class DisabledActionDto implements DisabledAction {
  /** The action. */
  @ApiProperty(actionType)
  type: ActionType;
  /** Message for callers who try it. */
  message: string;
  /** Id of the user who switched it off; absent when a disaster did. */
  user?: string;
  /** True if it comes back by itself when no disaster is left. */
  automaticallyClearable: boolean;
  /** Groups whose requests may take it all the same; absent: none. */
  @Since('muster')
  exceptGroups?: string[];
  /** Time at which it comes back at the latest, in epoch milliseconds; absent: an operator has to enable it. */
  @ApiProperty(int64)
  expiresAt?: number;
}

/** A kind of disaster. */
export class DisasterDto implements Disaster {
  /** The kind. */
  @ApiProperty(disasterType)
  type: DisasterType;
  /** True if there is one now. */
  active: boolean;
}

/** The cluster in figures at one moment. */
export class DisasterDataPointDto implements ShownDataPoint {
  /** Time of the data point, in epoch milliseconds. */
  @ApiProperty(int64)
  timestamp: number;
  /** Tasks launched and not ended. */
  @ApiProperty(int32)
  numActiveTasks: number;
  /** Tasks that wait for their time or for a machine. */
  @ApiProperty(int32)
  numPendingTasks: number;
  /** Number of these that are overdue for longer than tolerated. */
  @ApiProperty(int32)
  numLateTasks: number;
  /** Average time for which overdue tasks have been waiting, in milliseconds. */
  @ApiProperty(int64)
  avgTaskLagMillis: number;
  /** Tasks lost since the moment before, for reasons that count. */
  @ApiProperty(int32)
  numLostTasks: number;
  /** Slaves that are neither DEAD nor MISSING_ON_STARTUP. */
  @ApiProperty(int32)
  numActiveSlaves: number;
  /** Slaves lost since the moment before. */
  @ApiProperty(int32)
  numLostSlaves: number;
  /** Equal to numActiveSlaves. */
  @Since('1.5')
  @ApiProperty(int32)
  numActiveAgents: number;
  /** Equal to numLostSlaves. */
  @Since('1.5')
  @ApiProperty(int32)
  numLostAgents: number;
}

/** Disasters, with the data points behind them. */
@OlderNames({
  disasterStates: { of: 'disasters', type: () => DisasterDto, isArray: true },
  automatedActionDisabled: { of: 'automatedActionsDisabled', type: 'boolean' },
})
export class DisastersDataDto implements DisastersData {
  /** Figures of the last moments, newest first. */
  stats: DisasterDataPointDto[];
  /** Every kind of disaster. */
  disasters: DisasterDto[];
  /** True if the detection must not switch actions off. */
  automatedActionsDisabled: boolean;
}
