"""Secrets stay out of what is written down, and what is no secret stays readable."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.record.codec import dumps
from penstock.record.settings import HIDDEN, names_secret, redact, redact_words

SECRET_NAMES = (
    *("password", "MY_PASSWORD", "spark.ssl.keyPassword", "dbpasswd", "passphrase", "db.pass"),
    *("spark.authenticate.secret", "client_secret", "secretKey", "fs.s3a.secret.key"),
    *("token", "accessToken", "oauth-token", "spark.x.credentials", "AWS_ACCESS_KEY_ID"),
    *("fs.s3a.access.key", "accessKey", "secretaccesskey"),
    *("fs.azure.account.key.me.dfs.core.windows.net", "AccountKey"),
    *("private.key", "privateKey", "PRIVATE_KEY", "api.key", "api_key", "apiKey", "x-api-key"),
    *("fs.azure.sas.token.provider", "fs.azure.sas.box.me", "sas", "encryption.key", "pwd"),
)

OTHER_NAMES = (
    *("spark.sql.shuffle.partitions", "partitioning.key", "partition-key", "primary_key", "keyed"),
    *("spark.ssl.keyStore", "spark.yarn.keytab", "spark.io.compression.codec", "keys", "monkey"),
    *("modules.tokeniser.max_replicas", "tokenizer", "compass", "bypass", "passenger", "pandas"),
    *("spark.authenticate", "spark.kryo.registrator", "spark.executor.memory", "step"),
)


@pytest.mark.parametrize("name", SECRET_NAMES)
def test_a_secret_is_known_by_its_name(name: str) -> None:
    assert names_secret(name)
    assert redact({name: "hush"}) == {name: HIDDEN}
    assert redact_words([f"{name}=hush, hush; hush"]) == [f"{name}={HIDDEN}"]
    assert redact_words([f"--conf={name}=hush"]) == [f"--conf={name}={HIDDEN}"]


@pytest.mark.parametrize("name", OTHER_NAMES)
def test_what_is_no_secret_stays_readable(name: str) -> None:
    assert not names_secret(name)
    assert redact({name: "4, 5; 6"}) == {name: "4, 5; 6"}
    for word in (f"{name}=4, 5; 6", f"--set={name}=4", f"modules={{{name}: [4, 5]}}"):
        assert redact_words([word]) == [word]


@pytest.mark.parametrize(
    ("word", "shown"),
    [
        (
            "cluster.conf={spark.a.password: hush & hush, spark.b: 1}",
            'cluster.conf={"spark.a.password": "(redacted)", "spark.b": 1}',
        ),
        ('conf={"api_key": "hush \\" hush", "n": 1}', 'conf={"api_key": "(redacted)", "n": 1}'),
        ("conf=account.key: hush, hush", 'conf={"account.key": "(redacted)"}'),
        ("list=[{token: hush}, 2]", 'list=[{"token": "(redacted)"}, 2]'),
        ("url=jdbc:mysql://ann:hush@db:3306/x", "url=jdbc:mysql://ann:(redacted)@db:3306/x"),
        ("k8s://ann:hu@sh@host:6443", "k8s://ann:(redacted)@host:6443"),
        (
            "url=//db/x?user=ann&password=hush&ssl=1",
            "url=//db/x?user=ann&password=(redacted)&ssl=1",
        ),
        (
            "at=Protocol=https;AccountKey=hush==;Suffix=net",
            "at=Protocol=https;AccountKey=(redacted);Suffix=net",
        ),
        ("url=https://me.blob/box?sv=1&sig=hush%3D", "url=https://me.blob/box?sv=1&sig=(redacted)"),
        (
            "opts=-Da.b=1 -Dx.keyStorePassword=hush -Dc=2",
            "opts=-Da.b=1 -Dx.keyStorePassword=(redacted) -Dc=2",
        ),
        ("header=X Bearer hush", "header=X Bearer (redacted)"),
        ("not=[yaml password: hush", "not=[yaml password: (redacted)"),
    ],
)
def test_a_secret_inside_a_value_is_hidden_and_the_rest_is_kept(word: str, shown: str) -> None:
    assert redact_words([word]) == [shown]


@pytest.mark.parametrize(
    "word",
    [
        *("step=2s", "policy={name: static, degrees: {counter: 3}}", "workload=trace:a/b.txt"),
        *("abfss://box@me.dfs.core.windows.net/x", "spark://host:7077", "guards+=dry-run"),
        *("workload=daily:60/s..300/s,period=2m", "runs/a:b@c", "--json", "wordcount", ""),
    ],
)
def test_ordinary_words_are_kept_as_they_are(word: str) -> None:
    assert redact_words([word]) == [word]


def test_a_flag_that_names_a_secret_hides_the_word_after_it() -> None:
    assert redact_words(["run", "--api-key", "hush", "--seed", "7"]) == [
        *("run", "--api-key", HIDDEN, "--seed", "7")
    ]


def test_a_section_may_be_called_like_a_secret() -> None:
    file = {"modules": {"token": {"service_time": "3ms"}, "tokeniser": 1}}
    assert redact(file) == file


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(alphabet="abc =:,{}", max_size=9),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(["password", "x", "apiKey"]), inner, max_size=3)
        ),
        max_leaves=9,
    )
)
def test_no_secret_gets_through_however_deep_it_lies(value: object) -> None:
    text = dumps(redact({"x": value, "password": "hush1", "deep": [{"apiKey": "hush2"}]}))
    assert "hush" not in text
