import { body, contract, del, get, path, post, query, unit } from 'rest-contract/client';
import { User } from '../records/auth.js';
import {
  ExpiringMachineState,
  MachineChangeRequest,
  MachineState,
  MachineStateHistoryUpdate,
  Slave,
} from '../records/machines.js';
import { list, optional, string } from '../schema.js';

/** The machines that run tasks. */
export const SlavesApi = contract('SlavesApi', {
  /** Lists the slaves. */
  list: get(
    {
      /** Only those in this state. */
      state: query(optional(MachineState)),
    },
    list(Slave),
    { path: '' },
  ),
  /** Lists the changes of slaves that lapse. */
  expiring: get({}, list(ExpiringMachineState), { path: 'expiring' }),
  /** Lists the newest states of a slave, newest first. */
  history: get(
    {
      /** Id of the slave. */
      slaveId: path(string),
    },
    list(MachineStateHistoryUpdate),
    { path: 'slave' },
  ),
  /** Forgets a slave and its history. A decommission is cancelled. */
  remove: del(
    {
      /** Id of the slave. */
      slaveId: path(string),
    },
    unit,
    { path: 'slave' },
  ),
  /** Shows a slave. */
  get: get(
    {
      /** Id of the slave. */
      slaveId: path(string, 'details'),
    },
    Slave,
    { path: 'slave' },
  ),
  /** Forgets all slaves that are DEAD. */
  removeDead: del(
    {
      body: body(optional(User)),
    },
    unit,
    { path: 'dead' },
  ),
  /** Lets a slave take tasks again. A decommission is cancelled. */
  activate: post(
    {
      /** Id of the slave. */
      slaveId: path(string, 'activate'),
      body: body(optional(MachineChangeRequest)),
    },
    unit,
    { path: 'slave' },
  ),
  /** Moves the tasks of a slave elsewhere, and lets it take no new ones. */
  decommission: post(
    {
      /** Id of the slave. */
      slaveId: path(string, 'decommission'),
      body: body(optional(MachineChangeRequest)),
    },
    unit,
    { path: 'slave' },
  ),
  /**
   * Changes when and how the decommission of a slave lapses; without a duration it stays. An addition of version 1.5
   * of this API.
   */
  updateDecommission: post(
    {
      /** Id of the slave. */
      slaveId: path(string, 'decommission/update'),
      body: body(optional(MachineChangeRequest)),
    },
    unit,
    { path: 'slave' },
  ),
  /** Lets a slave take no new tasks; those on it stay. */
  freeze: post(
    {
      /** Id of the slave. */
      slaveId: path(string, 'freeze'),
      body: body(optional(MachineChangeRequest)),
    },
    unit,
    { path: 'slave' },
  ),
  /** Makes a change that would lapse permanent. */
  makePermanent: del(
    {
      /** Id of the slave. */
      slaveId: path(string, 'expiring'),
    },
    unit,
    { path: 'slave' },
  ),
});
