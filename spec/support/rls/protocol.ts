// The rate limit protocol from its published protos, by grpc-js and protobufjs: the reference for the gateway's own codec.

import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { loadSync } from '@grpc/proto-loader'
import type { MethodDefinition, ServiceDefinition } from '@grpc/grpc-js'
import { ROOT } from '../root.ts'

export type UnitName = 'UNKNOWN' | 'SECOND' | 'MINUTE' | 'HOUR' | 'DAY' | 'MONTH' | 'YEAR' | 'WEEK'
export type CodeName = 'UNKNOWN' | 'OK' | 'OVER_LIMIT'

export interface WireDescriptor {
  entries: { key: string; value: string }[]
  limit: { requests_per_unit: number; unit: UnitName } | null
  /** A 64-bit number as text. */
  hits_addend: { value: string } | null
}

export interface WireRequest {
  domain: string
  descriptors: WireDescriptor[]
  hits_addend: number
}

export interface WireStatus {
  code: CodeName
  current_limit?: { requests_per_unit: number; unit: UnitName; name?: string } | null
  limit_remaining: number
  duration_until_reset?: { seconds: number | string; nanos: number } | null
  quota?: object | null
}

export interface WireHeader {
  key: string
  value?: string
  raw_value?: Buffer
}

export interface WireAnswer {
  overall_code: CodeName
  statuses?: WireStatus[]
  response_headers_to_add?: WireHeader[]
  request_headers_to_add?: WireHeader[]
  raw_body?: Buffer
  dynamic_metadata?: object
  quota?: object
}

const deps = fileURLToPath(new URL('deps', import.meta.resolve('@grpc/grpc-js-xds/package.json')))

const found = loadSync('envoy/service/ratelimit/v3/rls.proto', {
  includeDirs: [
    join(ROOT, 'spec/support/rls/protos'),
    ...['envoy-api', 'xds', 'googleapis', 'protoc-gen-validate'].map((name) => join(deps, name)),
  ],
  keepCase: true,
  longs: String,
  enums: String,
  defaults: true,
})

// The loader does not know the type that the file declares.
export const SERVICE = found['envoy.service.ratelimit.v3.RateLimitService'] as ServiceDefinition

export const SHOULD_RATE_LIMIT = SERVICE['ShouldRateLimit'] as MethodDefinition<
  WireRequest,
  WireAnswer
>
