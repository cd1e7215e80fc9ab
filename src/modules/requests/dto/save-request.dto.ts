import { IsBoolean, IsOptional } from 'class-validator';
import { readLegacyType } from '../../../core/request-validation/index.js';
import type { Request } from '../../../core/model/request.js';
import { RequestDto } from './request.dto.js';

/** A request as clients send it, with the members that only very old ones send. */
export class SaveRequestDto extends RequestDto {
  /** Older form of requestType: false is ON_DEMAND, true SERVICE or WORKER; SCHEDULED when there is a schedule. */
  @IsOptional()
  @IsBoolean()
  daemon?: boolean;
  /** Older name of hideEvenNumberAcrossRacksHint. */
  @IsOptional()
  @IsBoolean()
  hideEvenNumberAcrossRacks?: boolean;

  /** The request that was meant; its type may still be missing. */
  static toRequest({ daemon, hideEvenNumberAcrossRacks, ...sent }: SaveRequestDto): Request {
    const requestType = readLegacyType({ ...sent, daemon });
    const hint = sent.hideEvenNumberAcrossRacksHint ?? hideEvenNumberAcrossRacks;
    const request = { ...sent, requestType, hideEvenNumberAcrossRacksHint: hint };
    return Object.fromEntries(Object.entries(request).filter(([, value]) => value !== undefined)) as unknown as Request;
  }
}
