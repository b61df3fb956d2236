// What users write under `gateways`.

import { z } from 'zod'
import { text, unsupported } from './parts.ts'
import { GATEWAY_POLICIES } from './policies.ts'
import { address, hostname, listenPort, partOfKey } from './scalars.ts'

const version = z.enum(['TLS_V1_2', 'TLS_V1_3'])

const TLS = z
  .strictObject({
    cert: text.describe('PEM file, found from the folder of the configuration'),
    key: text.describe('PEM file'),
    minTLSVersion: version.optional().describe('Oldest version').meta({ preset: 'TLS_V1_2' }),
    maxTLSVersion: version.optional().describe('Newest version').meta({ preset: 'TLS_V1_3' }),
    ...unsupported('mode', 'root', 'cipherSuites', 'keyExchangeGroups', 'spiffe'),
  })
  .meta({ id: 'ListenerTls', description: 'Certificate of the listener' })

const protocol = z
  .enum(['HTTP', 'HTTPS'])
  .describe('Default `HTTPS` when `tls` is set, else `HTTP`')

const LISTENER = z.strictObject({
  name: partOfKey.optional().describe('Default `listener<index>`'),
  hostname: hostname.optional().describe('`a.example.com` or `*.example.com`; none means any'),
  protocol: protocol.optional(),
  tls: TLS.optional(),
  ...GATEWAY_POLICIES,
})

export const GATEWAY = z.strictObject({
  port: listenPort.describe('Its own; 0 lets the system choose'),
  address: address.optional().describe('IP address to bind').meta({ preset: '::' }),
  protocol: protocol.optional(),
  tls: TLS.optional(),
  listeners: z
    .array(LISTENER)
    .min(1)
    .optional()
    .describe('Several on one port, told apart by hostname'),
  ...GATEWAY_POLICIES,
})

export type TlsShape = z.output<typeof TLS>
export type ListenerShape = z.output<typeof LISTENER>
export type GatewayShape = z.output<typeof GATEWAY>
