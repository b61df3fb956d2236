// Detects dead HTTP/2 sessions. After some peer errors, such as an oversized frame, nghttp2 stops reading the session and
// node reports nothing, not even when the peer disconnects: only frames that are never sent show it.

import type { Http2Session } from 'node:http2'
import type { Socket } from 'node:net'
import { unsentBytesOf } from '../core/socket-handle.ts'

/** The peer's acknowledgement of settings: an empty frame. */
const ACK_BYTES = 9

/** `quiet`: nothing was read since the session was known to live. `active`: something was. `probing`: settings were sent. */
type LivenessState = 'quiet' | 'active' | 'probing'

export class Http2Liveness {
  readonly #session: Http2Session
  readonly #socket: Socket
  #state: LivenessState = 'quiet'
  #bytesRead = 0

  constructor(session: Http2Session, socket: Socket) {
    this.#session = session
    this.#socket = socket
  }

  /**
   * Called by every sweep. The latest bytes may have caused such an error, so a frame is sent after them, once, when the
   * session is silent: a settings frame, because some servers take pings for an attack.
   */
  isDead(): boolean {
    if (this.#session.destroyed) return false
    if (this.#state === 'probing' && this.#isStuck) return true
    const { bytesRead } = this.#socket
    const isSilent = bytesRead === this.#bytesRead
    this.#bytesRead = bytesRead
    if (!isSilent) this.#state = 'active'
    else if (this.#state === 'active') this.#probe()
    return false
  }

  /** Node ends the session of a peer that leaves too many of these unacknowledged. */
  #probe(): void {
    this.#state = 'probing'
    this.#session.settings({}, () => this.#onAcknowledged())
  }

  /** Other frames push the probe out, too, so bytes sent prove nothing: a frame that stays queued does. */
  get #isStuck(): boolean {
    // Not if the peer reads nothing: it may do that for a while.
    return (this.#session.state.outboundQueueSize ?? 0) > 0 && unsentBytesOf(this.#socket) === 0
  }

  #onAcknowledged(): void {
    const { bytesRead } = this.#socket
    this.#state = bytesRead - this.#bytesRead === ACK_BYTES ? 'quiet' : 'active'
    this.#bytesRead = bytesRead
  }
}
