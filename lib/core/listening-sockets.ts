// The sockets that a process listens on, so that a successor can be given them: those it opened itself, and those it was
// given when it started.

import { closeSync, existsSync, linkSync, renameSync, rmSync } from 'node:fs'
import type { AddressInfo, Server } from 'node:net'
import { descriptorOf } from './socket-handle.ts'

type ListenAddress = PortAddress | SocketPath

export class ListeningSockets {
  /** Descriptors that nobody has asked for yet, by place. */
  readonly #given: Map<string, number>
  readonly #open = new Map<string, Server>()
  /** Those of them that are files. */
  readonly #files = new Map<string, Server>()
  #state: 'here' | 'leaving' = 'here'

  constructor(given: Iterable<readonly [string, number]> = []) {
    this.#given = new Map(given)
  }

  isInherited(place: ListenAddress): boolean {
    return this.#given.has(listenKeyOf(place))
  }

  /** Also of one that was given. */
  readonly open = async (server: Server, place: ListenAddress): Promise<OpenedPort> => {
    const key = this.#freeKeyOf(place)
    this.#dropLost(place)
    const fd = this.#given.get(key)
    this.#open.set(key, server)
    const opened = await openDirectly(server, fd === undefined ? place : { fd }).catch(
      (error: unknown) => {
        this.#open.delete(key)
        throw error
      },
    )
    this.#given.delete(key)
    if ('path' in place) this.#files.set(place.path, server)
    const close = (): void => {
      this.#open.delete(key)
      if ('path' in place) this.#files.delete(place.path)
      if (!('path' in place)) opened.close()
      else if (this.#state === 'here') closeRemovingFile(opened, place.path)
      else closeKeepingFile(opened, place.path)
    }
    return { port: opened.port, close }
  }

  /** Of several on port 0, each has its own: a successor is given them in the order in which it asks. */
  #freeKeyOf(place: ListenAddress): string {
    const key = listenKeyOf(place)
    if ('path' in place || place.port !== 0) return key
    let free = key
    for (let nth = 2; this.#open.has(free); nth++) free = `${key} ${nth}`
    return free
  }

  /** A socket whose file somebody removed is reached by nobody: it is opened anew. */
  #dropLost(place: ListenAddress): void {
    const key = listenKeyOf(place)
    const fd = this.#given.get(key)
    if (fd === undefined || !('path' in place) || existsSync(place.path)) return
    this.#given.delete(key)
    closeSync(fd)
  }

  /** Descriptors of all that are open, by place. */
  get descriptors(): Map<string, number> {
    const found = new Map<string, number>()
    for (const [key, server] of this.#open) {
      const fd = descriptorOf(server)
      if (fd >= 0) found.set(key, fd)
    }
    return found
  }

  /** Where somebody has removed the file, nobody finds it any more: it is made anew. What was connected stays so. */
  reopenRemoved(): string[] {
    const lost = [...this.#files].filter(([path]) => !existsSync(path))
    for (const [path, server] of lost) {
      server.close()
      server.listen({ path, backlog: LISTEN_BACKLOG })
    }
    return lost.map(([path]) => path)
  }

  /** A successor has them, too: from now on the files of those that close stay. */
  keepFilesOnClose(): void {
    this.#state = 'leaving'
  }

  /** Those that were given and are not wanted any more. */
  closeUnusedInherited(): void {
    for (const fd of this.#given.values()) closeSync(fd)
    this.#given.clear()
  }
}

function listenKeyOf(place: ListenAddress): string {
  return 'path' in place ? `unix:${place.path}` : `${place.host} ${place.port}`
}

/** Node removes the file of a socket it opened, and not that of one it was given. */
function closeRemovingFile(opened: OpenedPort, path: string): void {
  opened.close()
  rmSync(path, { force: true })
}

/** Node would remove the file, in which the successor listens. Whatever stands against keeping it, the socket closes. */
function closeKeepingFile(opened: OpenedPort, path: string): void {
  const kept = `${path}.kept`
  try {
    rmSync(kept, { force: true })
    linkSync(path, kept)
  } catch {
    return opened.close()
  }
  opened.close()
  renameSync(kept, path)
}

// How a server comes to its port: by itself, on a socket that another process had open before, or, in a worker, by asking
// the process that has it.

export interface PortAddress {
  readonly host: string
  readonly port: number
}

/** A file in place of a port. */
export interface SocketPath {
  readonly path: string
}

export interface OpenedPort {
  /** The one the system chose, where 0 was asked for. */
  readonly port: number
  /** No more connections come; those that stand stay. */
  close(): void
}

/** Rejects with the error of `listen`. */
export type OpenPort = (server: Server, place: PortAddress) => Promise<OpenedPort>

/** Connections the kernel holds for us while we are busy. */
const LISTEN_BACKLOG = 4096

/** Of a unix socket's path. What is longer is cut by the system, and the socket is somewhere else then. */
export const MAX_SOCKET_PATH_BYTES = process.platform === 'linux' ? 107 : 103

export async function openDirectly(
  server: Server,
  place: PortAddress | SocketPath | { readonly fd: number },
): Promise<OpenedPort> {
  if ('path' in place && Buffer.byteLength(place.path) > MAX_SOCKET_PATH_BYTES)
    throw new Error(`the path is longer than ${MAX_SOCKET_PATH_BYTES} bytes`)
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen({ ...place, backlog: LISTEN_BACKLOG }, () => {
      server.off('error', reject)
      resolve()
    })
  })
  const address = server.address() as AddressInfo | string | null
  const port = typeof address === 'object' ? (address?.port ?? 0) : 0
  return { port, close: () => void server.close() }
}
