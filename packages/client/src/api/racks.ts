import { body, contract, del, get, path, post, query, unit } from 'rest-contract/client';
import {
  ExpiringMachineState,
  MachineChangeRequest,
  MachineState,
  MachineStateHistoryUpdate,
  Rack,
} from '../records/machines.js';
import { list, optional, string } from '../schema.js';

/** Racks: machines that fail together. */
export const RacksApi = contract('RacksApi', {
  /** Lists the racks. */
  list: get(
    {
      /** Only those in this state. */
      state: query(optional(MachineState)),
    },
    list(Rack),
    { path: '' },
  ),
  /** Lists the changes of racks that lapse. */
  expiring: get({}, list(ExpiringMachineState), { path: 'expiring' }),
  /** Lists the newest states of a rack, newest first. */
  history: get(
    {
      /** Id of the rack. */
      rackId: path(string),
    },
    list(MachineStateHistoryUpdate),
    { path: 'rack' },
  ),
  /** Forgets a rack and its history. A decommission is cancelled. */
  remove: del(
    {
      /** Id of the rack. */
      rackId: path(string),
    },
    unit,
    { path: 'rack' },
  ),
  /** Lets the slaves of a rack take tasks again. A decommission is cancelled. */
  activate: post(
    {
      /** Id of the rack. */
      rackId: path(string, 'activate'),
      body: body(optional(MachineChangeRequest)),
    },
    unit,
    { path: 'rack' },
  ),
  /** Moves the tasks in a rack elsewhere, and lets its slaves take no new ones. */
  decommission: post(
    {
      /** Id of the rack. */
      rackId: path(string, 'decommission'),
      body: body(optional(MachineChangeRequest)),
    },
    unit,
    { path: 'rack' },
  ),
  /** Lets the slaves of a rack take no new tasks; those on them stay. */
  freeze: post(
    {
      /** Id of the rack. */
      rackId: path(string, 'freeze'),
      body: body(optional(MachineChangeRequest)),
    },
    unit,
    { path: 'rack' },
  ),
  /** Makes a change that would lapse permanent. */
  makePermanent: del(
    {
      /** Id of the rack. */
      rackId: path(string, 'expiring'),
    },
    unit,
    { path: 'rack' },
  ),
});
