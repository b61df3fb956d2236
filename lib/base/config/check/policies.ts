// `policies` of a route → what is not set is null, and files are read.

import type { Path } from '../error.ts'
import { Secret } from '../secret.ts'
import type { PoliciesShape } from '../shape/policies.ts'
import type { BackendTlsConfig, RouteMatch, RoutePolicies } from '../types.ts'
import type { Context } from './context.ts'

export function checkPolicies(context: Context, path: Path, shape: PoliciesShape): RoutePolicies {
  const { urlRewrite, requestRedirect, cors, timeout, backendTLS } = shape
  if (urlRewrite !== undefined && requestRedirect !== undefined)
    context.problem(
      [...path, 'urlRewrite'],
      'got urlRewrite and requestRedirect, expected one of them: a redirect reaches no backend',
      'key',
    )
  return {
    cors: cors === undefined ? null : { ...cors, maxAge: cors.maxAge ?? null },
    requestHeaderModifier: shape.requestHeaderModifier ?? null,
    responseHeaderModifier: shape.responseHeaderModifier ?? null,
    urlRewrite:
      urlRewrite === undefined
        ? null
        : { authority: urlRewrite.authority ?? null, path: urlRewrite.path ?? null },
    requestRedirect:
      requestRedirect === undefined
        ? null
        : {
            scheme: requestRedirect.scheme ?? null,
            authority: requestRedirect.authority ?? null,
            path: requestRedirect.path ?? null,
            status: requestRedirect.status,
          },
    directResponse: shape.directResponse ?? null,
    timeout:
      timeout === undefined
        ? null
        : {
            requestTimeout: timeout.requestTimeout ?? null,
            backendRequestTimeout: timeout.backendRequestTimeout ?? null,
          },
    retry: shape.retry ?? null,
    backendTLS:
      backendTLS === undefined ? null : tlsOf(context, [...path, 'backendTLS'], backendTLS),
  }
}

type BackendTlsShape = NonNullable<PoliciesShape['backendTLS']>

function tlsOf(context: Context, path: Path, shape: BackendTlsShape): BackendTlsConfig {
  const read = (field: 'cert' | 'key' | 'root') =>
    shape[field] === undefined ? null : context.read([...path, field], shape[field])
  const cert = read('cert')
  const key = read('key')
  const root = read('root')
  if (cert !== null && key !== null) context.checkTls(path, { cert, key })
  if (root !== null) context.checkTls(path, { ca: root })
  return {
    cert,
    key: key === null ? null : new Secret(key),
    root,
    hostname: shape.hostname ?? null,
    insecure: shape.insecure,
    alpn: shape.alpn,
  }
}

/** Only a prefix that matched can be replaced. */
export function checkPrefixes(
  context: Context,
  path: Path,
  policies: RoutePolicies,
  matches: readonly RouteMatch[],
): void {
  if (matches.every((match) => match.path.kind === 'prefix')) return
  for (const name of ['urlRewrite', 'requestRedirect'] as const)
    if (policies[name]?.path?.kind === 'prefix')
      context.problem(
        [...path, name, 'path', 'prefix'],
        'got a prefix to replace, expected every match of the route to be a pathPrefix',
      )
}
