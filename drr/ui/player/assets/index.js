// The component: a mount is a player, which gets new runs and goes away with its page, or something said to a player.

import { readBlob, splitMessage } from "./blob.js";
import { tell } from "./link.js";
import { Player } from "./player.js";
import { loadPlotly } from "./plotly.js";

export default function ({ data, parentElement, setStateValue }) {
  if (!(data instanceof Uint8Array) && !(data instanceof ArrayBuffer)) {
    if (data?.warm) loadPlotly(data.warm).catch(() => {});
    else if (data) tell(data);
    return undefined;
  }
  const message = splitMessage(data);
  if (message.plotly) return showPlayer(message, parentElement, setStateValue);
  readBlob(message.blob).then(({ header }) => tell({ ...header, to: message.to }));
  return undefined;
}

function showPlayer({ to, plotly, start, blob }, parent, setStateValue) {
  const mount = (parent.ringside ??= {});
  if (mount.player?.name !== to) {
    mount.player?.close();
    mount.player = new Player(to, parent);
    mount.shown = null;
  }
  const { player } = mount;
  player.sender.send = setStateValue;
  if (!isSame(mount.shown, blob)) {
    mount.shown = blob;
    player.load(blob, { plotly, start }).catch((error) => {
      console.error("ringside:", error);
      player.said.fail(error);
    });
  }
  return () => {
    mount.player?.close();
    mount.player = null;
  };
}

const isSame = (a, b) => a !== null && a.length === b.length && a.every((byte, i) => byte === b[i]);
