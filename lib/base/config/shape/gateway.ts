// What users write under `gateways`.

import { z } from 'zod'
import { address, hostname, listenPort } from './scalars.ts'

const version = z.enum(['TLS_V1_2', 'TLS_V1_3'])

const TLS = z.strictObject({
  cert: z.string().min(1),
  key: z.string().min(1),
  minTLSVersion: version.optional(),
  maxTLSVersion: version.optional(),
})

/** Names are joined by slashes into keys. */
export const partOfKey = z
  .string()
  .regex(/^[^/\s]+$/, 'got a name with a slash or a space, or an empty one, expected a plain name')

const protocol = z.enum(['HTTP', 'HTTPS'])

const LISTENER = z.strictObject({
  name: partOfKey.optional(),
  hostname: hostname.optional(),
  protocol: protocol.optional(),
  tls: TLS.optional(),
})

export const GATEWAY = z.strictObject({
  port: listenPort,
  address: address.optional(),
  protocol: protocol.optional(),
  tls: TLS.optional(),
  listeners: z.array(LISTENER).min(1).optional(),
})

export type TlsShape = z.output<typeof TLS>
export type ListenerShape = z.output<typeof LISTENER>
export type GatewayShape = z.output<typeof GATEWAY>
