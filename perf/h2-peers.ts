// Proxies that clients call over HTTP/2: without TLS, with TLS, and with a backend over HTTP/2.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import type { Options } from './options.ts'
import { gatewayCommand, nginx, provided, save, type Found, type Peer } from './peers.ts'

export type Http2Kind = 'h2c' | 'h2-tls' | 'h2-up'

/** The peers of one kind; `h2load` is the load. */
export function findHttp2Peers(kind: Http2Kind): (options: Options, folder: string) => Found {
  return (options, folder) => {
    if (!provided('h2load', options.install))
      return { peers: [], missing: ['h2load is not on PATH: HTTP/2 is not measured'] }
    const failure = certificate(folder)
    if (failure !== '') return { peers: [], missing: [`HTTP/2 is not measured: ${failure}`] }
    const peers: Peer[] = [pipe(kind, folder)]
    const missing: string[] = []
    // Only the newest nginx calls backends over HTTP/2.
    if (kind !== 'h2-up' && provided('nginx', options.install))
      peers.push(nginxOverHttp2(kind, folder))
    const command = gatewayCommand(options)
    if (command === undefined) missing.push('the gateway is not built: skipped (npm run build)')
    else peers.push(gateway(kind, command, folder))
    return { peers, missing }
  }
}

/** Why there are no peers. */
function certificate(folder: string): string {
  const words =
    'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost ' +
    '-addext subjectAltName=IP:127.0.0.1 -keyout key.pem -out cert.pem'
  const made = spawnSync('openssl', words.split(' '), { cwd: folder, encoding: 'utf8' })
  return made.status === 0 ? '' : (made.error?.message ?? made.stderr.trim())
}

function pipe(kind: Http2Kind, folder: string): Peer {
  const file = join(import.meta.dirname, 'peers/h2-pipe.js')
  const place = kind === 'h2-tls' ? folder : 'plain'
  const protocol = kind === 'h2-up' ? 'http2' : 'http1'
  return {
    name: 'pipe',
    speaks: kind,
    command: (port, backendPort) => [
      process.execPath,
      file,
      `${port}`,
      `${backendPort}`,
      place,
      protocol,
    ],
  }
}

function nginxOverHttp2(kind: Http2Kind, folder: string): Peer {
  const isSecure = kind === 'h2-tls'
  const words = isSecure ? 'ssl http2' : 'http2'
  const files = `ssl_certificate ${folder}/cert.pem; ssl_certificate_key ${folder}/key.pem;`
  return {
    ...nginx(folder, { listen: words, more: isSecure ? files : '' }),
    speaks: kind,
  }
}

function gateway(kind: Http2Kind, command: readonly string[], folder: string): Peer {
  const tls = { cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem') }
  const upstream = { policies: { backendTLS: { insecure: true } } }
  const config = (port: number, backendPort: number): unknown => ({
    gateways: {
      default: {
        port,
        address: '127.0.0.1',
        ...(kind === 'h2-tls' ? { tls } : {}),
      },
    },
    routes: [
      { backends: [{ host: `127.0.0.1:${backendPort}`, ...(kind === 'h2-up' ? upstream : {}) }] },
    ],
  })
  return {
    name: 'gateway',
    speaks: kind,
    // JSON is YAML.
    command: (port, backendPort) => [
      ...command,
      '-f',
      save(folder, `${kind}.yaml`, JSON.stringify(config(port, backendPort))),
    ],
  }
}
