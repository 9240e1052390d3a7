import { describe, expect, test } from 'vitest'
import { storeName, sessionUrl } from '../../../src/store/postgres/connection-url.ts'
import { storeError } from '../../../src/store/postgres/store-error.ts'

const withCode = (code: string): Error => Object.assign(new Error('it says why'), { code })

describe('an error of PostgreSQL', () => {
  test.each([
    ['08006', 'Check that the server is running'],
    ['57P01', 'Check that the server is running'],
    ['57P03', 'Check that the server is running'],
    ['ECONNREFUSED', 'Check that the server is running'],
    ['ECONNRESET', 'Check that the server is running'],
    ['ENOTFOUND', 'its host and port'],
    ['53300', 'max_connections'],
    ['53100', 'Free up space'],
    ['25006', 'primary server'],
    ['25006', 'default_transaction_read_only'],
    ['57014', 'overloaded'],
    ['25P03', 'overloaded'],
    ['25P04', 'overloaded'],
    ['55P03', 'holds a lock'],
    ['40P01', 'overloaded'],
  ])('with the code %s is temporary', (code, hint) => {
    expect(storeError('postgres://host/db', withCode(code))).toMatchObject({
      code: 'store_unusable',
      isTemporary: true,
      message: 'Cannot use the store postgres://host/db: it says why',
      hint: expect.stringContaining(hint) as string,
    })
  })

  test.each([
    ['28P01', 'the password'],
    ['28000', 'pg_hba.conf'],
    ['3D000', 'CREATE DATABASE'],
    ['42501', 'GRANT'],
    ['3F000', 'CREATE SCHEMA'],
    ['42P01', 'restore them'],
    ['SELF_SIGNED_CERT_IN_CHAIN', 'sslrootcert'],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'sslrootcert'],
    ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'sslrootcert'],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'use a host name'],
    ['CERT_HAS_EXPIRED', 'Renew'],
    ['ERR_OSSL_X509_KEY_VALUES_MISMATCH', 'the key must match the certificate'],
    ['ERR_SSL_TLSV1_ALERT_UNKNOWN_CA', 'ssl_ca_file'],
    ['42P05', 'max_prepared_statements'],
    ['26000', 'max_prepared_statements'],
    ['XX000', 'its log'],
  ])('with the code %s is permanent', (code, hint) => {
    expect(storeError('postgres://host/db', withCode(code))).toMatchObject({
      isTemporary: false,
      hint: expect.stringContaining(hint) as string,
    })
  })

  test.each([
    'Connection terminated unexpectedly',
    'Connection terminated due to connection timeout',
    'timeout exceeded when trying to connect',
    'Query read timeout',
    'Client has encountered a connection error and is not queryable',
    'There was an error establishing an SSL connection',
  ])('without a code, "%s", is temporary', (message) => {
    expect(storeError('db', new Error(message))).toMatchObject({ isTemporary: true })
  })

  test.each([
    ['08P01', 'unsupported startup parameter: statement_timeout', 'ignore_startup_parameters'],
    ['08P01', 'unsupported startup parameter in options: jit', 'ignore_startup_parameters'],
    ['28000', 'no pg_hba.conf entry for host "::1", user "me", no encryption', 'sslmode'],
    ['28000', 'no pg_hba.conf entry for host "::1", user "me", SSL off', 'sslmode'],
    ['28000', 'connection requires a valid client certificate', 'sslcert'],
    ['', 'The server does not support SSL connections', 'sslmode=disable'],
  ])('with the code "%s" and the message "%s" is permanent', (code, message, hint) => {
    expect(storeError('db', Object.assign(new Error(message), { code }))).toMatchObject({
      isTemporary: false,
      hint: expect.stringContaining(hint) as string,
    })
  })

  test('because all connections are in use does not blame the host', () => {
    const error = new Error('timeout exceeded when trying to connect')
    const failure = storeError('postgres://host/db', error)
    expect(failure.message).toContain('all connections of this process were in use')
    expect(failure.hint).not.toContain('host')
  })

  test('for several addresses contains the error of each', () => {
    const error = new AggregateError([new Error('no ::1'), new Error('no 127.0.0.1')])
    expect(storeError('db', Object.assign(error, { code: 'ECONNREFUSED' }))).toMatchObject({
      isTemporary: true,
      message: 'Cannot use the store db: no ::1, no 127.0.0.1',
    })
  })
})

describe('a URL', () => {
  test.each([
    ['postgres://me:swordfish@host:5433/events', 'postgres://me@host:5433/events'],
    ['postgresql://me@host/events?sslmode=require', 'postgresql://me@host/events'],
    ['postgres:///events?host=/run&user=me&password=swordfish', 'postgres:///events'],
    ['postgres://me:sword@fish/swordfish@host/events', 'postgres://me@host/events'],
    ['postgres://me:sword?fish@host/events', 'postgres://me@host/events'],
    ['postgres://:swordfish@host', 'postgres://host'],
  ])('%s is shown without secrets', (url, shown) => {
    expect(storeName(url)).toBe(shown)
    expect(storeName(url)).not.toMatch(/sword|fish/)
  })

  test.each([
    ['sslmode=require', 'verify-full'],
    ['sslmode=prefer', 'verify-full'],
    ['sslmode=verify-ca', 'verify-full'],
    ['sslmode=verify-full', 'verify-full'],
    ['sslmode=no-verify', 'no-verify'],
    ['sslmode=disable', 'disable'],
    ['uselibpqcompat=true&sslmode=require', 'require'],
    ['application_name=reports', null],
  ])('with %s checks the certificate as %s', (query, sslMode) => {
    const url = sessionUrl(`postgres://host/db?${query}`, { isReadOnly: false })
    expect(new URL(url).searchParams.get('sslmode')).toBe(sslMode)
  })

  test('keeps its own options, after ours', () => {
    const url = 'postgres://host/db?options=-c%20search_path%3Devents'
    const options = (isReadOnly: boolean): string | null =>
      new URL(sessionUrl(url, { isReadOnly })).searchParams.get('options')
    expect(options(false)).toMatch(/^-c jit=off .*-c search_path=events$/)
    expect(options(false)).not.toContain('read_only')
    expect(options(true)).toContain('-c default_transaction_read_only=on')
  })
})
