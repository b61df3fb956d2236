// The sockets on which a process listens: those it opened, and those it inherited from its predecessor. A successor
// can be given both.

import { closeSync, existsSync, linkSync, renameSync, rmSync } from 'node:fs'
import type { AddressInfo, Server } from 'node:net'
import { descriptorOf } from './socket-handle.ts'

/** A TCP address to listen on. */
export interface PortAddress {
  readonly host: string
  readonly port: number
}

/** A unix socket to listen on. */
export interface SocketPath {
  readonly path: string
}

export interface OpenedPort {
  /** The port that the system chose, if 0 was requested. */
  readonly port: number
  /** Accepts no more connections; open connections stay open. */
  close(): void
}

/** Opens a port for a server: directly, or in a worker through its supervisor. Rejects with the error of `listen`. */
export type OpenPort = (server: Server, address: PortAddress) => Promise<OpenedPort>

/** Connections that the kernel queues while the process is busy. */
const LISTEN_BACKLOG = 4096

/** The longest path of a unix socket. The system truncates a longer one, and the socket is at another path then. */
export const MAX_SOCKET_PATH_BYTES = process.platform === 'linux' ? 107 : 103

type ListenAddress = PortAddress | SocketPath

const LISTEN_ERROR_TEXTS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'it is in use by another process',
  EADDRNOTAVAIL: 'this machine has no such address',
  EACCES: 'permission denied',
}

/** Why an address cannot be opened. */
export function describeListenError({ code, message }: NodeJS.ErrnoException): string {
  return LISTEN_ERROR_TEXTS[code ?? ''] ?? message
}

export class ListeningSockets {
  /** Descriptors not yet used, by listen key. */
  readonly #inherited: Map<string, number>
  readonly #open = new Map<string, Server>()
  /** The open unix sockets, by path. */
  readonly #unixSockets = new Map<string, Server>()
  /** `handedOver`: a successor listens on the same sockets. */
  #state: 'listening' | 'handedOver' = 'listening'

  constructor(inherited: Iterable<readonly [string, number]> = []) {
    this.#inherited = new Map(inherited)
  }

  isInherited(address: ListenAddress): boolean {
    return this.#inherited.has(listenKeyOf(address))
  }

  /** Opens a socket, or continues an inherited one. */
  readonly open = async (server: Server, address: ListenAddress): Promise<OpenedPort> => {
    const key = this.#freeKeyOf(address)
    this.#dropUnreachable(address)
    const fd = this.#inherited.get(key)
    this.#open.set(key, server)
    const opened = await openDirectly(server, fd === undefined ? address : { fd }).catch(
      (error: unknown) => {
        this.#open.delete(key)
        throw error
      },
    )
    this.#inherited.delete(key)
    if ('path' in address) this.#unixSockets.set(address.path, server)
    const close = (): void => {
      this.#open.delete(key)
      if ('path' in address) this.#unixSockets.delete(address.path)
      if (!('path' in address)) opened.close()
      else if (this.#state === 'listening') closeRemovingFile(opened, address.path)
      else closeKeepingFile(opened, address.path)
    }
    return { port: opened.port, close }
  }

  /** Several sockets on port 0 have a key each: a successor gets them in the order in which it asks. */
  #freeKeyOf(address: ListenAddress): string {
    const key = listenKeyOf(address)
    if ('path' in address || address.port !== 0) return key
    let free = key
    for (let nth = 2; this.#open.has(free); nth++) free = `${key} ${nth}`
    return free
  }

  /** An inherited socket whose file was removed cannot be reached: it is opened again. */
  #dropUnreachable(address: ListenAddress): void {
    const key = listenKeyOf(address)
    const fd = this.#inherited.get(key)
    if (fd === undefined || !('path' in address) || existsSync(address.path)) return
    this.#inherited.delete(key)
    closeSync(fd)
  }

  /** The descriptors of all open sockets, by listen key. */
  get descriptors(): Map<string, number> {
    const found = new Map<string, number>()
    for (const [key, server] of this.#open) {
      const fd = descriptorOf(server)
      if (fd >= 0) found.set(key, fd)
    }
    return found
  }

  /** Opens a unix socket again if its file was removed. Existing connections stay open. */
  reopenRemoved(): string[] {
    const removed = [...this.#unixSockets].filter(([path]) => !existsSync(path))
    for (const [path, server] of removed) {
      server.close()
      server.listen({ path, backlog: LISTEN_BACKLOG })
    }
    return removed.map(([path]) => path)
  }

  /** A successor listens on the same sockets: files of sockets that close from now on stay. */
  keepFilesOnClose(): void {
    this.#state = 'handedOver'
  }

  /** Closes inherited sockets that the configuration no longer uses. */
  closeUnusedInherited(): void {
    for (const fd of this.#inherited.values()) closeSync(fd)
    this.#inherited.clear()
  }
}

function listenKeyOf(address: ListenAddress): string {
  return 'path' in address ? `unix:${address.path}` : `${address.host} ${address.port}`
}

/** Node removes the file of a socket that it opened, but not that of an inherited one. */
function closeRemovingFile(opened: OpenedPort, path: string): void {
  opened.close()
  rmSync(path, { force: true })
}

/** Node would remove the file on which the successor listens, so a hard link preserves it; without one, it only closes. */
function closeKeepingFile(opened: OpenedPort, path: string): void {
  const link = `${path}.kept`
  try {
    rmSync(link, { force: true })
    linkSync(path, link)
  } catch {
    return opened.close()
  }
  opened.close()
  renameSync(link, path)
}

export async function openDirectly(
  server: Server,
  address: PortAddress | SocketPath | { readonly fd: number },
): Promise<OpenedPort> {
  if ('path' in address && Buffer.byteLength(address.path) > MAX_SOCKET_PATH_BYTES)
    throw new Error(`the path is longer than ${MAX_SOCKET_PATH_BYTES} bytes`)
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen({ ...address, backlog: LISTEN_BACKLOG }, () => {
      server.off('error', reject)
      resolve()
    })
  })
  const bound = server.address() as AddressInfo | string | null
  const port = typeof bound === 'object' ? (bound?.port ?? 0) : 0
  return { port, close: () => void server.close() }
}
