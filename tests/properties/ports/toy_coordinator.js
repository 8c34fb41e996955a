#!/usr/bin/env node
// A group coordinator as Kafka 2.7's behaves, for dynamic members, on groupcheck's port protocol.
//
// It shows how a coordinator in another language is put under test, and it is a second opinion on
// Kafka's source in groupcheck's own tests. Where Kafka leaves a choice open it takes another one
// than the obvious: the last member leads after the leader left, the last of the tied protocols
// wins, timers due together fire last armed first.
//
// --fault=NAME (or TOY_FAULT=NAME) puts in one bug:
//   old-generation-heartbeat  a heartbeat from an old generation is accepted
//   follower-sees-members     every member gets the list that is the leader's alone
//   crash, hang, garbage, answer-twice  what the first SyncGroup does to this program
'use strict';

const fs = require('node:fs');

const flag = process.argv.find((argument) => argument.startsWith('--fault='));
const FAULT = flag ? flag.slice('--fault='.length) : process.env.TOY_FAULT;

const Errors = {
  NONE: 0, OFFSET_METADATA_TOO_LARGE: 12, ILLEGAL_GENERATION: 22, INCONSISTENT_GROUP_PROTOCOL: 23,
  INVALID_GROUP_ID: 24, UNKNOWN_MEMBER_ID: 25, INVALID_SESSION_TIMEOUT: 26,
  REBALANCE_IN_PROGRESS: 27, MEMBER_ID_REQUIRED: 79, GROUP_MAX_SIZE_REACHED: 81,
  UNSTABLE_OFFSET_COMMIT: 88,
};
const [EMPTY, STABLE, DEAD] = ['Empty', 'Stable', 'Dead'];
const [PREPARING_REBALANCE, COMPLETING_REBALANCE] = ['PreparingRebalance', 'CompletingRebalance'];
const NEW_MEMBER_JOIN_TIMEOUT_MS = 5 * 60 * 1000;
const DEFAULT_CONFIG = {
  'group.min.session.timeout.ms': 6000,
  'group.max.session.timeout.ms': 1800000,
  'group.initial.rebalance.delay.ms': 3000,
  'group.max.size': 2 ** 31 - 1,
  'offset.metadata.max.bytes': 4096,
};
// Versions 0 of OffsetCommit and OffsetFetch go to ZooKeeper, which is not here.
const VERSIONS = {
  JoinGroup: [0, 7], SyncGroup: [0, 5], Heartbeat: [0, 4], LeaveGroup: [0, 4],
  OffsetCommit: [1, 8], OffsetFetch: [1, 7], DescribeGroups: [0, 5],
};

// Virtual time: it moves only when `advance` is called.
class Clock {
  nowMs = 0;
  timers = new Set();

  after(ms, fire) {
    const timer = { deadlineMs: this.nowMs + ms, fire };
    this.timers.add(timer);
    return timer;
  }

  cancel(timer) {
    this.timers.delete(timer);
  }

  advance(ms) {
    const targetMs = this.nowMs + ms;
    const earlier = (first, timer) => (timer.deadlineMs <= first.deadlineMs ? timer : first);
    for (;;) {
      const due = [...this.timers].reduce(earlier, { deadlineMs: targetMs });
      if (due.fire === undefined) break;
      this.timers.delete(due);
      this.nowMs = due.deadlineMs;
      due.fire();
    }
    this.nowMs = targetMs;
  }
}

class Group {
  state = EMPTY;
  generationId = 0;
  protocolType = null;
  protocolName = null;
  leaderId = null;
  members = new Map();
  pendingMembers = new Map(); // member id -> its timer
  newMemberAdded = false;
  rebalanceTimer = null;
  mayCompleteEarly = false;
  offsets = new Map(); // [topic, partition] as JSON -> record
  pendingOffsets = new Map(); // the same, of appends that are not completed

  constructor(groupId, coordinator) {
    const { clock, config } = coordinator;
    Object.assign(this, { groupId, coordinator, clock, config });
  }

  // Whether all members support a protocol; with no members, any.
  isCommon({ name }) {
    const offered = [...this.members.values()].flatMap((member) => member.protocols);
    return offered.filter((protocol) => protocol.name === name).length === this.members.size;
  }

  supportsProtocols({ protocolType, protocols }) {
    if (this.state === EMPTY) return protocolType !== '' && protocols.length > 0;
    return protocolType === this.protocolType && protocols.some((one) => this.isCommon(one));
  }

  // Whether there is room for a member; while a rebalance is prepared, for one more to wait for it.
  accepts(memberId) {
    const largest = this.config['group.max.size'];
    const member = this.members.get(memberId);
    if (this.state === EMPTY) return true;
    if (this.state !== PREPARING_REBALANCE) return Boolean(member) || this.members.size < largest;
    const waiting = [...this.members.values()].filter((one) => one.awaitingJoin).length;
    return Boolean(member?.awaitingJoin) || waiting < largest;
  }

  addPending(memberId, sessionTimeoutMs) {
    const expire = () => this.removePending(memberId);
    this.pendingMembers.set(memberId, this.clock.after(sessionTimeoutMs, expire));
  }

  removePending(memberId) {
    this.clock.cancel(this.pendingMembers.get(memberId));
    this.pendingMembers.delete(memberId);
    this.maybeCompleteJoin();
  }

  addMember(memberId, request) {
    const { sessionTimeoutMs, protocolType, protocols } = request.body;
    // Version 0 has one timeout for both.
    const rebalanceTimeoutMs =
      request.apiVersion === 0 ? sessionTimeoutMs : request.body.rebalanceTimeoutMs;
    const { clientId, clientHost } = request;
    const member = {
      memberId, clientId, clientHost, sessionTimeoutMs, rebalanceTimeoutMs, protocols,
      assignment: '', isNew: true, awaitingJoin: request, awaitingSync: null, timer: null,
    };
    if (this.state === PREPARING_REBALANCE && this.generationId === 0) this.newMemberAdded = true;
    if (this.members.size === 0) this.protocolType = protocolType;
    this.leaderId ??= memberId;
    this.members.set(memberId, member);
    this.armSession(member, NEW_MEMBER_JOIN_TIMEOUT_MS);
    this.clock.cancel(this.pendingMembers.get(memberId));
    this.pendingMembers.delete(memberId);
    this.maybePrepareRebalance();
  }

  updateMember(member, request) {
    // Kafka 2.7 leaves the timeouts as they were. A JoinGroup that is parked is never answered.
    member.protocols = request.body.protocols;
    member.awaitingJoin = request;
    this.maybePrepareRebalance();
  }

  // Out of the books, without any of the consequences.
  drop(memberId) {
    const member = this.members.get(memberId);
    if (member === undefined) return;
    this.clock.cancel(member.timer);
    this.members.delete(memberId);
    if (this.leaderId === memberId) this.leaderId = [...this.members.keys()].pop() ?? null;
  }

  removeMember(member) {
    if (member.awaitingJoin) {
      answer(member.awaitingJoin, joinError(member.awaitingJoin, '', Errors.UNKNOWN_MEMBER_ID));
      member.awaitingJoin = null;
    }
    this.drop(member.memberId);
    if (this.state === PREPARING_REBALANCE) this.maybeCompleteJoin();
    else this.maybePrepareRebalance();
  }

  // A parked member needs no heartbeats, unless it is new: its client may be long gone.
  isParked(member) {
    return !member.isNew && Boolean(member.awaitingJoin || member.awaitingSync);
  }

  armSession(member, ms = member.sessionTimeoutMs) {
    this.clock.cancel(member.timer);
    if (this.isParked(member)) return; // armed again when it is answered
    member.timer = this.clock.after(ms, () => {
      if (!this.isParked(member)) this.removeMember(member);
    });
  }

  maybePrepareRebalance() {
    if (this.state === PREPARING_REBALANCE) return;
    if (this.state === COMPLETING_REBALANCE) {
      this.finishSync(Errors.REBALANCE_IN_PROGRESS, new Map());
    }
    const timeouts = [...this.members.values()].map((member) => member.rebalanceTimeoutMs);
    const timeoutMs = Math.max(0, ...timeouts);
    const wasEmpty = this.state === EMPTY;
    this.state = PREPARING_REBALANCE;
    this.mayCompleteEarly = !wasEmpty;
    if (wasEmpty) {
      const delayMs = this.config['group.initial.rebalance.delay.ms'];
      this.delayInitialJoin(delayMs, Math.max(timeoutMs - delayMs, 0));
    } else {
      this.rebalanceTimer = this.clock.after(timeoutMs, () => this.completeJoin());
      this.maybeCompleteJoin();
    }
  }

  // From Empty the group waits for more members, longer if one came, but not beyond the timeout.
  delayInitialJoin(delayMs, remainingMs) {
    this.rebalanceTimer = this.clock.after(delayMs, () => {
      if (!this.newMemberAdded || remainingMs === 0) {
        this.completeJoin();
        return;
      }
      this.newMemberAdded = false;
      const nextMs = Math.min(this.config['group.initial.rebalance.delay.ms'], remainingMs);
      this.delayInitialJoin(nextMs, Math.max(remainingMs - delayMs, 0));
    });
  }

  maybeCompleteJoin() {
    if (this.state !== PREPARING_REBALANCE || !this.mayCompleteEarly) return;
    const allJoined = [...this.members.values()].every((member) => member.awaitingJoin);
    if (allJoined && this.pendingMembers.size === 0) this.completeJoin();
  }

  completeJoin() {
    this.clock.cancel(this.rebalanceTimer);
    for (const member of [...this.members.values()]) {
      if (!member.awaitingJoin) this.drop(member.memberId);
    }
    this.generationId += 1;
    if (this.members.size === 0) {
      this.protocolName = null;
      this.state = EMPTY;
      return;
    }
    this.protocolName = this.selectProtocol();
    this.state = COMPLETING_REBALANCE;
    for (const member of this.members.values()) {
      answer(member.awaitingJoin, this.joined(member, member.awaitingJoin));
      member.awaitingJoin = null;
      this.armSession(member);
      member.isNew = false;
    }
  }

  selectProtocol() {
    const votes = new Map();
    for (const { protocols } of this.members.values()) {
      const { name } = protocols.find((offered) => this.isCommon(offered));
      votes.set(name, (votes.get(name) ?? 0) + 1);
    }
    const most = Math.max(...votes.values());
    return [...votes.keys()].filter((name) => votes.get(name) === most).pop();
  }

  joined(member, request) {
    // Outside of a join's completion only CompletingRebalance tells the leader its members.
    const leads = member.memberId === this.leaderId && this.state === COMPLETING_REBALANCE;
    const sees = leads || FAULT === 'follower-sees-members';
    const members = sees ? [...this.members.values()].reverse() : [];
    return {
      ...joinError(request, member.memberId, Errors.NONE),
      generationId: this.generationId,
      ...(request.apiVersion >= 7 && { protocolType: this.protocolType }),
      protocolName: this.protocolName,
      leader: this.leaderId,
      members: members.map((other) => ({
        memberId: other.memberId,
        metadata: metadataOf(other, this.protocolName),
      })),
    };
  }

  // The answer to all parked SyncGroups; each answered member has to send the next heartbeat in time.
  finishSync(errorCode, assignments) {
    for (const member of this.members.values()) {
      member.assignment = assignments.get(member.memberId) ?? '';
      const request = member.awaitingSync;
      if (request === null) continue;
      member.awaitingSync = null;
      const isGood = errorCode === Errors.NONE;
      answer(request, isGood ? this.synced(member, request) : syncError(request, errorCode));
      this.armSession(member);
    }
  }

  synced(member, request) {
    const protocol = { protocolType: this.protocolType, protocolName: this.protocolName };
    const body = { errorCode: Errors.NONE, assignment: member.assignment };
    return request.apiVersion >= 5 ? { ...body, ...protocol } : body;
  }

  storeAssignments(assignments) {
    const { generationId } = this;
    this.coordinator.append(() => {
      // While the append was held another rebalance may have begun: then it is forgotten.
      if (this.state !== COMPLETING_REBALANCE || this.generationId !== generationId) return;
      this.finishSync(Errors.NONE, assignments);
      this.state = STABLE;
    });
  }

  storeOffsets(request, partitions) {
    const fits = ([, record]) => record.metadata.length <= this.config['offset.metadata.max.bytes'];
    const errorOf = (entry) => (fits(entry) ? Errors.NONE : Errors.OFFSET_METADATA_TOO_LARGE);
    const respond = () => answer(request, commitResponse(partitions, errorOf));
    const stored = partitions.filter(fits);
    if (stored.length === 0) {
      respond();
      return;
    }
    // Those that are too large stay pending for ever: Kafka's own defect (KAFKA-16371).
    for (const [key, record] of partitions) this.pendingOffsets.set(key, record);
    this.coordinator.append(() => {
      for (const [key, record] of stored) this.offsetAppended(key, record);
      respond();
    });
  }

  offsetAppended(key, record) {
    const pending = this.pendingOffsets.get(key);
    if (pending === undefined) return;
    this.offsets.set(key, record);
    // Equal, not the same: so Kafka compares them.
    if (JSON.stringify(pending) === JSON.stringify(record)) this.pendingOffsets.delete(key);
  }

  fetchOffset(key, requireStable) {
    const isUnstable = requireStable && this.pendingOffsets.has(key);
    if (isUnstable) return { ...NO_OFFSET, errorCode: Errors.UNSTABLE_OFFSET_COMMIT };
    const record = this.offsets.get(key);
    if (record === undefined) return NO_OFFSET;
    const { offset: committedOffset, leaderEpoch: committedLeaderEpoch, metadata } = record;
    return { committedOffset, committedLeaderEpoch, metadata, errorCode: Errors.NONE };
  }

  describe() {
    const isStable = this.state === STABLE;
    return {
      errorCode: Errors.NONE,
      groupId: this.groupId,
      groupState: this.state,
      protocolType: this.protocolType ?? '',
      protocolData: isStable ? this.protocolName : '',
      members: [...this.members.values()].map((member) => ({
        memberId: member.memberId,
        clientId: member.clientId,
        clientHost: member.clientHost,
        memberMetadata: isStable ? metadataOf(member, this.protocolName) : '',
        memberAssignment: isStable ? member.assignment : '',
      })),
    };
  }
}

const NO_OFFSET = { committedOffset: -1, committedLeaderEpoch: -1, metadata: '', errorCode: 0 };

const metadataOf = (member, protocol) =>
  member.protocols.find((offered) => offered.name === protocol).metadata;

const sameProtocols = (some, others) =>
  some.length === others.length &&
  some.every(({ name, metadata }, i) => name === others[i].name && metadata === others[i].metadata);

function joinError({ apiVersion }, memberId, errorCode) {
  const body = { errorCode, generationId: -1, protocolName: '', leader: '', memberId, members: [] };
  return apiVersion >= 7 ? { ...body, protocolType: null, protocolName: null } : body;
}

function syncError({ apiVersion }, errorCode) {
  const body = { errorCode, assignment: '' };
  return apiVersion >= 5 ? { ...body, protocolType: null, protocolName: null } : body;
}

// [[topic, partition] as JSON, value] pairs as Kafka's list of topics with their partitions.
function byTopic(entries, partitionOf) {
  const topics = new Map();
  for (const entry of entries) {
    const [name, partitionIndex] = JSON.parse(entry[0]);
    if (!topics.has(name)) topics.set(name, []);
    topics.get(name).push({ partitionIndex, ...partitionOf(entry) });
  }
  return [...topics].map(([name, partitions]) => ({ name, partitions }));
}

const commitResponse = (partitions, errorOf) => ({
  topics: byTopic(partitions, (entry) => ({ errorCode: errorOf(entry) })),
});

class Coordinator {
  clock = new Clock();
  groups = new Map();
  lastMember = 0;
  held = null; // appends to the log that are to complete at the release

  constructor(config) {
    this.config = { ...DEFAULT_CONFIG, ...config };
  }

  append(complete) {
    if (this.held === null) complete();
    else this.held.push(complete);
  }

  releaseAppends() {
    const held = this.held ?? [];
    this.held = null;
    for (const complete of held) complete();
  }

  group(groupId, mayCreate) {
    if (mayCreate && !this.groups.has(groupId)) this.groups.set(groupId, new Group(groupId, this));
    return this.groups.get(groupId);
  }

  newMemberId(clientId) {
    this.lastMember += 1;
    return `${clientId}-00000000-0000-4000-8000-${String(this.lastMember).padStart(12, '0')}`;
  }

  JoinGroup(request) {
    const { groupId, memberId, sessionTimeoutMs } = request.body;
    const refuse = (id, errorCode) => answer(request, joinError(request, id, errorCode));
    const shortest = this.config['group.min.session.timeout.ms'];
    const longest = this.config['group.max.session.timeout.ms'];
    if (groupId === '') return refuse(memberId, Errors.INVALID_GROUP_ID);
    if (sessionTimeoutMs < shortest || sessionTimeoutMs > longest) {
      return refuse(memberId, Errors.INVALID_SESSION_TIMEOUT);
    }
    const group = this.group(groupId, memberId === '');
    if (group === undefined) return refuse(memberId, Errors.UNKNOWN_MEMBER_ID);
    if (!group.accepts(memberId)) {
      group.drop(memberId);
      refuse('', Errors.GROUP_MAX_SIZE_REACHED);
    } else if (memberId === '') this.joinUnknown(group, request, refuse);
    else this.joinKnown(group, request, refuse);
    return group.maybeCompleteJoin();
  }

  joinUnknown(group, request, refuse) {
    if (!group.supportsProtocols(request.body)) {
      return refuse('', Errors.INCONSISTENT_GROUP_PROTOCOL);
    }
    const memberId = this.newMemberId(request.clientId);
    if (request.apiVersion < 4) return group.addMember(memberId, request);
    group.addPending(memberId, request.body.sessionTimeoutMs);
    return refuse(memberId, Errors.MEMBER_ID_REQUIRED);
  }

  joinKnown(group, request, refuse) {
    const { memberId, protocols } = request.body;
    if (!group.supportsProtocols(request.body)) {
      return refuse(memberId, Errors.INCONSISTENT_GROUP_PROTOCOL);
    }
    if (group.pendingMembers.has(memberId)) return group.addMember(memberId, request);
    const member = group.members.get(memberId);
    if (member === undefined) return refuse(memberId, Errors.UNKNOWN_MEMBER_ID);
    // A leader that joins again in Stable wants a new assignment (its topics may have changed).
    const rebalances =
      group.state === PREPARING_REBALANCE ||
      (group.state === STABLE && memberId === group.leaderId) ||
      !sameProtocols(member.protocols, protocols);
    if (rebalances) return group.updateMember(member, request);
    return answer(request, group.joined(member, request));
  }

  SyncGroup(request) {
    const { groupId, memberId, generationId, protocolType, protocolName } = request.body;
    const refuse = (errorCode) => answer(request, syncError(request, errorCode));
    const differs = (given, own) => request.apiVersion >= 5 && given !== own;
    if (request.apiVersion >= 5 && (protocolType == null || protocolName == null)) {
      return refuse(Errors.INCONSISTENT_GROUP_PROTOCOL);
    }
    if (groupId === '') return refuse(Errors.INVALID_GROUP_ID);
    const group = this.group(groupId);
    const member = group?.members.get(memberId);
    if (member === undefined) return refuse(Errors.UNKNOWN_MEMBER_ID);
    if (generationId !== group.generationId) return refuse(Errors.ILLEGAL_GENERATION);
    if (differs(protocolType, group.protocolType) || differs(protocolName, group.protocolName)) {
      return refuse(Errors.INCONSISTENT_GROUP_PROTOCOL);
    }
    if (group.state === PREPARING_REBALANCE) return refuse(Errors.REBALANCE_IN_PROGRESS);
    if (group.state === STABLE) {
      answer(request, group.synced(member, request));
      return group.armSession(member);
    }
    member.awaitingSync = request; // one that is parked already is never answered
    if (memberId !== group.leaderId) return undefined;
    const given = request.body.assignments ?? [];
    return group.storeAssignments(new Map(given.map((one) => [one.memberId, one.assignment])));
  }

  Heartbeat(request) {
    const { groupId, memberId, generationId } = request.body;
    const reply = (errorCode) => answer(request, { errorCode });
    if (groupId === '') return reply(Errors.INVALID_GROUP_ID);
    const group = this.group(groupId);
    const member = group?.members.get(memberId);
    if (member === undefined) return reply(Errors.UNKNOWN_MEMBER_ID);
    const isOld = FAULT === 'old-generation-heartbeat' && generationId < group.generationId;
    if (generationId !== group.generationId && !isOld) return reply(Errors.ILLEGAL_GENERATION);
    group.armSession(member);
    const rebalancing = group.state === PREPARING_REBALANCE;
    return reply(rebalancing ? Errors.REBALANCE_IN_PROGRESS : Errors.NONE);
  }

  LeaveGroup(request) {
    const { groupId, memberId } = request.body;
    const isBatch = request.apiVersion >= 3;
    if (groupId === '') {
      const body = { errorCode: Errors.INVALID_GROUP_ID };
      return answer(request, isBatch ? { ...body, members: [] } : body);
    }
    const group = this.group(groupId);
    const leaving = isBatch ? request.body.members : [{ memberId }];
    const members = leaving.map((identity) => ({
      memberId: identity.memberId,
      errorCode: this.leave(group, identity.memberId),
    }));
    // Before batches, the one member's error was the response's.
    if (!isBatch) return answer(request, { errorCode: members[0].errorCode });
    return answer(request, { errorCode: Errors.NONE, members });
  }

  leave(group, memberId) {
    if (group?.pendingMembers.has(memberId)) group.removePending(memberId);
    else if (group?.members.has(memberId)) group.removeMember(group.members.get(memberId));
    else return Errors.UNKNOWN_MEMBER_ID;
    return Errors.NONE;
  }

  OffsetCommit(request) {
    const { groupId, memberId, generationId, topics } = request.body;
    const commits = new Map();
    for (const { name, partitions } of topics) {
      for (const partition of partitions) {
        commits.set(JSON.stringify([name, partition.partitionIndex]), {
          offset: partition.committedOffset,
          leaderEpoch: partition.committedLeaderEpoch ?? -1,
          metadata: partition.committedMetadata ?? '',
          timestampMs: this.clock.nowMs,
        });
      }
    }
    const entries = [...commits];
    const refuse = (errorCode) => answer(request, commitResponse(entries, () => errorCode));
    // Nothing to commit: answered before anybody looks at the group.
    if (entries.length === 0) return refuse(Errors.NONE);
    const group = this.group(groupId, generationId < 0);
    if (group === undefined) return refuse(Errors.ILLEGAL_GENERATION);
    if (generationId < 0 && group.state === EMPTY) return group.storeOffsets(request, entries);
    const member = group.members.get(memberId);
    if (member === undefined) return refuse(Errors.UNKNOWN_MEMBER_ID);
    if (generationId !== group.generationId) return refuse(Errors.ILLEGAL_GENERATION);
    if (group.state === COMPLETING_REBALANCE) return refuse(Errors.REBALANCE_IN_PROGRESS);
    group.armSession(member);
    return group.storeOffsets(request, entries);
  }

  OffsetFetch(request) {
    const { groupId, topics, requireStable } = request.body;
    const group = this.group(groupId);
    const asked = (topics ?? []).flatMap(({ name, partitionIndexes }) =>
      partitionIndexes.map((index) => JSON.stringify([name, index])));
    const keys = topics == null ? [...(group?.offsets.keys() ?? [])] : [...new Set(asked)];
    const found = keys.map((key) => [key, group?.fetchOffset(key, requireStable) ?? NO_OFFSET]);
    const body = { topics: byTopic(found, ([, partition]) => partition) };
    return answer(request, request.apiVersion >= 2 ? { ...body, errorCode: Errors.NONE } : body);
  }

  DescribeGroups(request) {
    const nothing = { protocolType: '', protocolData: '', members: [] };
    const dead = { errorCode: Errors.NONE, groupState: DEAD, ...nothing };
    const describe = (groupId) => this.group(groupId)?.describe() ?? { ...dead, groupId };
    answer(request, { groups: request.body.groups.map(describe) });
  }
}

// The port protocol.

let coordinator = new Coordinator({});
let output = [];

const send = (message) => output.push(`${JSON.stringify(message)}\n`);

function answer(request, body) {
  send({ type: 'response', id: request.id, body });
  if (FAULT === 'answer-twice' && request.api === 'SyncGroup') {
    send({ type: 'response', id: request.id, body });
  }
}

const unsupported = (what) => send({ type: 'unsupported', what });

function handleRequest(request) {
  const { api, apiVersion, body } = request;
  const [oldest, newest] = VERSIONS[api] ?? [];
  if (oldest === undefined) return unsupported(api);
  if (apiVersion < oldest || apiVersion > newest) return unsupported(`${api} v${apiVersion}`);
  const isStatic = [body, ...(body.members ?? [])].some((one) => one.groupInstanceId != null);
  if (isStatic) return unsupported('groupInstanceId');
  if (api === 'SyncGroup') misbehave();
  return coordinator[api](request);
}

function misbehave() {
  if (FAULT === 'crash') throw new Error('seeded crash');
  if (FAULT === 'garbage') output.push('SyncGroup? Never heard of it.\n');
  if (FAULT === 'hang') Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
}

function handleFault(name) {
  if (name === 'holdAppends') coordinator.held ??= [];
  else if (name === 'releaseAppends') coordinator.releaseAppends();
  else unsupported(name);
}

function handle(message) {
  const { clock } = coordinator;
  if (message.type === 'open') {
    if (message.profile !== '2.7') unsupported(`profile ${message.profile}`);
    coordinator = new Coordinator(message.config);
    return { type: 'done', port: { name: 'toy_coordinator.js', version: '1' } };
  }
  if (message.type === 'request') handleRequest(message);
  else if (message.type === 'advance') clock.advance(message.ms);
  else if (message.type === 'fault') handleFault(message.fault);
  clock.advance(0); // timers of no length
  return { type: 'done' };
}

function* readLines() {
  const chunk = Buffer.alloc(65536);
  let rest = Buffer.alloc(0);
  for (let size = fs.readSync(0, chunk); size > 0; size = fs.readSync(0, chunk)) {
    rest = Buffer.concat([rest, chunk.subarray(0, size)]);
    for (let end = rest.indexOf(10); end >= 0; end = rest.indexOf(10)) {
      yield rest.subarray(0, end).toString('utf8');
      rest = rest.subarray(end + 1);
    }
  }
}

// Blocking reads and writes: one message at a time is all there is to do, and it is fastest.
for (const line of readLines()) {
  send(handle(JSON.parse(line)));
  const bytes = Buffer.from(output.join(''));
  for (let sent = 0; sent < bytes.length; ) sent += fs.writeSync(1, bytes, sent);
  output = [];
}
