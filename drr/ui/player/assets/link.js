// Who is on the page: players by name, what Python said for them before they were there, and groups that move together.

const players = new Map();
const messages = new Map();
const memories = new Map();

/** What outlives the player of a name when another page is shown: playhead, mode, speed, the timeline that is shown. */
export function memoryOf(name) {
  if (!memories.has(name)) memories.set(name, {});
  return memories.get(name);
}

export function register(name, player) {
  players.set(name, player);
  for (const message of messages.get(name)?.values() ?? []) player.hear(message);
}

export function unregister(name, player) {
  if (players.get(name) === player) players.delete(name);
}

/** Hand a message of Python to the player it is for; the last one of each kind is kept for a player that comes later. */
export function tell(message) {
  if (!messages.has(message.to)) messages.set(message.to, new Map());
  messages.get(message.to).set(message.kind, message);
  players.get(message.to)?.hear(message);
}

/** The other players of a group. */
export function others(group, player) {
  return group ? [...players.values()].filter((each) => each !== player && each.group === group) : [];
}
