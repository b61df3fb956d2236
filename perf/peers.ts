// The peers that are compared: how each is started in front of the backend.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Options } from './options.ts'
import { found } from './process.ts'

export type PeerName =
  | 'direct'
  | 'relay'
  | 'pipe'
  | 'nginx'
  | 'haproxy'
  | 'supergateway'
  | 'mcp-proxy'
  | 'gateway'
  | 'two workers'
  | 'guarded'
  | 'plain'
  | 'llm'
  | 'limited'
  | 'policed'
  | 'portkey'

/** A proxy under test: the command that serves `port` and forwards to `backendPort`, or to its own MCP server. */
export type Peer = {
  name: PeerName
  speaks:
    | 'http'
    | 'mcp'
    | 'auth'
    | 'llm'
    | 'limits'
    | 'ui'
    | 'h2c'
    | 'h2-tls'
    | 'h2-up'
    | 'start'
    | 'workers'
  /** `all` for a peer that may use every core. */
  cores?: 'all'
  command: (port: number, backendPort: number) => string[]
}

/** The peers present on this machine, and a line for each that is not. */
export type Found = { peers: Peer[]; missing: string[] }

/** The HTTP peers; those of MCP are in mcp-peers.ts. */
export function findHttpPeers(options: Options, folder: string): Found {
  const peers: Peer[] = [ownPeer('relay'), ownPeer('pipe')]
  const missing: string[] = []
  for (const peer of [nginx(folder), haproxy(folder)]) {
    if (provided(peer.name, options.install)) peers.push(peer)
    else missing.push(`${peer.name} is not on PATH: skipped (--install tries apt-get)`)
  }
  const gateway = gatewayCommand(options)
  if (gateway === undefined) missing.push('the gateway is not built: skipped (npm run build)')
  else peers.push(gatewayPeer(gateway, folder))
  return { peers, missing }
}

/** How the gateway is started, without its configuration; undefined when it is not built. */
export function gatewayCommand(options: Options): readonly string[] | undefined {
  const built = join(import.meta.dirname, '../bin/gateway.js')
  return options.gatewayCommand ?? (existsSync(built) ? [process.execPath, built] : undefined)
}

/** Whether a program is on PATH, after trying to install it if that was asked for. */
export function provided(program: string, install: boolean): boolean {
  if (found(program)) return true
  if (!install) return false
  console.log(`installing ${program} with apt-get`)
  spawnSync('apt-get', ['install', '-y', '--no-install-recommends', program], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  return found(program)
}

function ownPeer(name: 'relay' | 'pipe'): Peer {
  const file = join(import.meta.dirname, 'peers', `${name}.js`)
  return {
    name,
    speaks: 'http',
    command: (port, backendPort) => [process.execPath, file, `${port}`, `${backendPort}`],
  }
}

function gatewayPeer(command: readonly string[], folder: string): Peer {
  const config = (port: number, backendPort: number): string => `gateways:
  default: { port: ${port}, address: 127.0.0.1 }
routes:
  - backends:
      - host: 127.0.0.1:${backendPort}
`
  return {
    name: 'gateway',
    speaks: 'http',
    command: (port, backendPort) => [
      ...command,
      '-f',
      save(folder, 'gateway.yaml', config(port, backendPort)),
    ],
  }
}

/** Options of `listen`, and lines of the server block. */
type NginxServer = { listen: string; more: string }

/** One process, no log, nothing buffered: the fastest and most streaming nginx there is. */
export function nginx(
  folder: string,
  { listen, more }: NginxServer = { listen: '', more: '' },
): Peer {
  const config = (port: number, backendPort: number): string => `daemon off;
master_process off;
worker_processes 1;
pid ${folder}/nginx.pid;
error_log stderr crit;
events { worker_connections 24000; }
http {
  access_log off;
  client_body_temp_path ${folder}/nginx-body;
  proxy_temp_path ${folder}/nginx-proxy;
  fastcgi_temp_path ${folder}/nginx-fastcgi;
  uwsgi_temp_path ${folder}/nginx-uwsgi;
  scgi_temp_path ${folder}/nginx-scgi;
  client_max_body_size 0;
  keepalive_requests 1000000000;
  keepalive_timeout 300s;
  upstream backend {
    server 127.0.0.1:${backendPort};
    keepalive 128;
    keepalive_requests 1000000000;
  }
  server {
    listen 127.0.0.1:${port} backlog=4096 ${listen};
    ${more}
    location / {
      proxy_pass http://backend;
      proxy_http_version 1.1;
      proxy_set_header connection "";
      proxy_buffering off;
      proxy_request_buffering off;
    }
  }
}
`
  return {
    name: 'nginx',
    speaks: 'http',
    command: (port, backendPort) => {
      const file = save(folder, 'nginx.conf', config(port, backendPort))
      return ['nginx', '-p', folder, '-e', 'stderr', '-c', file]
    },
  }
}

/** One thread, no log, and `http-no-delay`: without it SSE chunks are held up to 40 ms. */
function haproxy(folder: string): Peer {
  const config = (port: number, backendPort: number): string => `global
  nbthread 1
  maxconn 9950
defaults
  mode http
  option http-no-delay
  timeout connect 5s
  timeout client 300s
  timeout server 300s
frontend clients
  bind 127.0.0.1:${port} backlog 4096
  default_backend backends
backend backends
  server one 127.0.0.1:${backendPort}
`
  return {
    name: 'haproxy',
    speaks: 'http',
    command: (port, backendPort) => {
      const file = save(folder, 'haproxy.cfg', config(port, backendPort))
      return ['haproxy', '-q', '-db', '-f', file]
    },
  }
}

export function save(folder: string, name: string, text: string): string {
  mkdirSync(folder, { recursive: true })
  const file = join(folder, name)
  writeFileSync(file, text)
  return file
}
