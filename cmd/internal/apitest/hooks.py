"""The check of requests that fit the document, for Schemathesis."""

import schemathesis

# What a 400 says of a request that does not have the form of the document.
FORM = {"INVALID_REQUEST_BODY", "INVALID_QUERY_PARAMS", "INVALID_PATH_PARAMS"}

# Operations whose values have a meaning that no schema can say, and the code by which they refuse one that fits it.
MEANING = {
    # Clone URLs and names of repositories have a grammar; the bound of a name is in bytes.
    "registerRepository": "INVALID_REQUEST_BODY",
    "renameRepository": "INVALID_REQUEST_BODY",
    # The name of a symbol is bounded in bytes.
    "findDefinitions": "INVALID_REQUEST_BODY",
    "findReferences": "INVALID_REQUEST_BODY",
    "findImplementations": "INVALID_REQUEST_BODY",
    "hover": "INVALID_REQUEST_BODY",
    # The bytes are an index in the SCIP format, of files of the commit.
    "uploadScip": "INVALID_REQUEST_BODY",
    # Letters are bounded in bytes, and blanks are none.
    "findFiles": "INVALID_QUERY_PARAMS",
    # Names are bounded in bytes, and kinds are words.
    "listSymbols": "INVALID_QUERY_PARAMS",
    # A time has a grammar ("3 weeks ago"), and since is not after until; patterns are regular expressions.
    "listCommits": "INVALID_QUERY_PARAMS",
    # A path is relative, and bounded in bytes.
    "getDiff": "INVALID_QUERY_PARAMS",
    "listCommitAuthors": "INVALID_QUERY_PARAMS",
    "listAuditRecords": "INVALID_QUERY_PARAMS",
    "exportAuditRecords": "INVALID_QUERY_PARAMS",
    # A cursor is one of a page before, a head one of the log.
    "listDeliveries": "INVALID_QUERY_PARAMS",
    "verifyAudit": "INVALID_REQUEST_BODY",
    # An expiry lies ahead, an address has an account's form, a password is not the old one.
    "createKey": "INVALID_REQUEST_BODY",
    # A name and a query have text, bounded in bytes.
    "createSavedSearch": "INVALID_REQUEST_BODY",
    "changeSavedSearch": "INVALID_REQUEST_BODY",
    "invite": "INVALID_REQUEST_BODY",
    "changeMe": "INVALID_REQUEST_BODY",
    "setUp": "INVALID_REQUEST_BODY",
    "acceptInvitation": "INVALID_REQUEST_BODY",
    # Members are users.
    "setRepositoryAccess": "INVALID_REQUEST_BODY",
    # A body is a message of another protocol.
    "callMcp": "INVALID_REQUEST_BODY",
}


@schemathesis.check
def fitting_request_is_not_malformed(ctx, response, case):
    """A request that fits the document is not answered as one that does not."""
    meta = case.meta
    if meta is None or not meta.generation.mode.is_positive or response.status_code != 400:
        return
    code = response.json()["errorCode"]
    operation = case.operation.definition.raw["operationId"]
    if code in FORM and MEANING.get(operation) != code:
        raise AssertionError(f"{operation}: {code} for a request that fits the document: {response.text}")
